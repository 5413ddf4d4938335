#!/usr/bin/env -S python3 -B
"""Takes cairn into projects as docs/install.md says, by Conan, by a wrap of Meson, and by FetchContent from Git.

Conan is in build/conan, where `./dev test packages` installs it. Conan Center is not used: this script makes Conan's
packages of xsimd, zlib, nlohmann's JSON and Boost.Hana from the headers of Debian's packages.
"""

import re
import shutil
import tempfile
from pathlib import Path

from compilers import report, top
from install import call, cmake_project, equal, fault, files, judge, outside, paragraph, version

conan = top / "build/conan/bin/conan"
address = "https://example.com/cairn.git"  # on docs/install.md and in cairn.wrap

# A library's version, its headers below /usr/include, and the library with which programs are linked.
libraries = {
    "xsimd": ("8.1.0", "xsimd/*", []),
    "zlib": ("1.2.13", "z*.h", ["z"]),
    "nlohmann_json": ("3.11.2", "nlohmann/*", []),
    "boost": ("1.74.0", "boost/hana*", []),
}
recipe = """from conan import ConanFile
from conan.tools.files import copy
class library(ConanFile):
    name, version = "{name}", "{version}"
    options, default_options = {{"header_only": [True, False]}}, {{"header_only": False}}
    def package(self):
        copy(self, "{headers}", "/usr/include", self.package_folder + "/include")
    def package_info(self):
        self.cpp_info.system_libs = {linked}
"""


def repository(folder):
    """Makes a repository of this tree, with changes that are not committed. Returns its address."""
    def left_out(path, names):
        return [name for name in names if Path(path) == top and (name == ".git" or name.startswith("build"))]

    clone = folder / "cairn"
    shutil.copytree(top, clone, ignore=left_out)
    for command in ("init -q", "add -A", "-c user.name=cairn -c user.email=cairn@example.com commit -q -m all",
                    f"tag v{version()}"):
        call("git", *command.split(), folder=clone)
    return f"file://{clone}"


def wrapped(folder):
    """With Meson: the wrap gets cairn, and a program builds that needs xsimd and zlib."""
    project = folder / "wrapped"
    (project / "subprojects").mkdir(parents=True)
    wrap = (top / "package/cairn.wrap").read_text()
    equal(wrap.count(address), 1)
    (project / "subprojects/cairn.wrap").write_text(wrap.replace(address, repository(folder)))
    (project / "meson.build").write_text(paragraph("dependency('cairn')"))
    shutil.copy(outside / "taken.cpp", project / "model.cpp")
    call("meson", "setup", project / "build", project, "--force-fallback-for=cairn", folder=folder, CXX="g++")
    call("ninja", "-C", project / "build", folder=folder)
    call(project / "build/model", folder=folder)


def fetched(folder):
    """With CMake: FetchContent gets cairn from Git."""
    project = folder / "fetched"
    command = cmake_project(project, "FetchContent_Declare(")
    lines = project / "CMakeLists.txt"
    equal(lines.read_text().count(address), 1)
    lines.write_text(lines.read_text().replace(address, repository(folder)))
    call(*command, folder=folder)
    call("cmake", "--build", project / "build", folder=folder)
    call(project / "build/model", folder=folder)


def by_conan(folder):
    """With Conan: the recipe packs the headers. A program builds that needs xsimd and zlib. Each option requires its
    library. A profile without C++20 is refused."""
    home = {"CONAN_HOME": str(folder / "home")}
    call(conan, "profile", "detect", folder=folder, **home)
    call(conan, "remote", "disable", "*", folder=folder, **home)
    for name, (number, headers, linked) in libraries.items():
        (folder / name).mkdir()
        text = recipe.format(name=name, version=number, headers=headers, linked=linked)
        (folder / name / "conanfile.py").write_text(text)
        call(conan, "create", folder / name, folder=folder, **home)
    [create] = [line for line in paragraph("conan create").splitlines() if line.startswith("conan create ")]
    made = call(conan, *create.split()[1:], folder=top, **home)
    packed = Path(re.search("^Package folder (.+)$", made, re.MULTILINE)[1])
    headers = [f"include/{name}" for name in files(top / "include") if name.endswith(".hpp")]
    equal(files(packed), sorted([*headers, "conaninfo.txt", "conanmanifest.txt", "licenses/LICENSE"]))

    project = folder / "required"
    command = cmake_project(project, "find_package(")
    (project / "cairn").unlink()
    (project / "conanfile.txt").write_text(paragraph("[requires]"))
    standard = ["-s", "compiler.cppstd=20"]
    call(conan, "install", project, *standard, f"--output-folder={project}", folder=folder, **home)
    call(*command, f"-DCMAKE_TOOLCHAIN_FILE={project}/conan_toolchain.cmake", "-DCMAKE_BUILD_TYPE=Release",
         folder=folder)
    call("cmake", "--build", project / "build", folder=folder)
    call(project / "build/model", folder=folder)

    for option, library in {"boost": "boost", "json": "nlohmann_json", "zlib": "zlib"}.items():
        graph = call(conan, "graph", "info", f"--requires=cairn/{version()}", *standard, f"-o=cairn/*:{option}=True",
                     folder=folder, **home)
        equal({name for name, (number, *_) in libraries.items() if f"{name}/{number}" in graph}, {"xsimd", library})
    try:
        call(conan, "create", top / "package/conan", "-s", "compiler.cppstd=17", folder=folder, **home)
    except fault as wrong:
        equal("is lower than the required C++ standard (20)" in str(wrong), True)
    else:
        raise fault("Conan packs cairn for C++17")


def main():
    for check in (wrapped, fetched, by_conan):
        with tempfile.TemporaryDirectory() as folder:
            yield check.__name__, judge((check, Path(folder)))


if __name__ == "__main__":
    report(main())
