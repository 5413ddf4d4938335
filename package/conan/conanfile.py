"""The recipe of cairn for Conan 2. It packs the headers of the clone in which it lies."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class cairn(ConanFile):
    name = "cairn"
    description = "Training steps with activation checkpointing, compiled by the C++ compiler"
    license = "BSL-1.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # Each option stands for a library that only some headers of cairn need.
    options = {"boost": [True, False], "json": [True, False], "zlib": [True, False]}
    default_options = {"boost": False, "json": False, "zlib": False}
    no_copy_source = True

    @property
    def _clone(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        self.version = re.search(r"^  version: '(.+)'", load(self, self._clone / "meson.build"), re.MULTILINE)[1]

    def export_sources(self):
        copy(self, "include/*.hpp", self._clone, self.export_sources_folder)
        copy(self, "LICENSE", self._clone, self.export_sources_folder)

    def requirements(self):
        self.requires("xsimd/[>=8.1]")
        if self.options.boost:
            self.requires("boost/[>=1.74 <2]", options={"header_only": True})
        if self.options.json:
            self.requires("nlohmann_json/[>=3.11 <4]")
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "include/*", self.source_folder, self.package_folder)
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
