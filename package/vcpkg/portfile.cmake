# An overlay port, which installs the headers of the clone in which it lies.
set(VCPKG_BUILD_TYPE release)  # headers do not differ between release and debug
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
# cairn.pc requires zlib only with the feature, even if the system has zlib.
vcpkg_check_features(OUT_FEATURE_OPTIONS options INVERTED_FEATURES zlib CMAKE_DISABLE_FIND_PACKAGE_ZLIB)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${options})
vcpkg_cmake_install()
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
