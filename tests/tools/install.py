#!/usr/bin/env -S python3 -B
"""Builds cairn as users build it: installed, from its sources, as a package of Debian, in programs of several files,
and together with the names of other libraries. packages.py tests ways that need more than Debian's packages."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from itertools import chain
from pathlib import Path

from compilers import compile_text, compilers, finish, for_each, top

outside = top / "tests/install"
strict = ["-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wundef", "-Wpedantic",
          "-Werror"]
# Options for devices, and for checks of undefined behaviour. With the last two options, g++ cannot decide during
# constant evaluation whether the addresses of two objects are equal.
device = ["-fno-exceptions", "-fno-rtti", "-fno-sanitize-recover=undefined", "-fsanitize=undefined",
          "-fno-delete-null-pointer-checks"]
# Headers that cairn.hpp includes and embedded.hpp does not.
large = {"chrono", "filesystem", "fstream", "iostream", "regex", "sys/ioctl.h", "thread", "zlib.h"}
others = "#include <bits/stdc++.h>\n#include <sys/socket.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"

# Names that cairn shares with std or POSIX. The first are functions, which overload. The second must be qualified in
# programs that use both namespaces.
overloads = {"abs", "bind", "ceil", "clamp", "cos", "erf", "exp", "floor", "log", "log1p", "max", "min", "pow", "round",
             "sin", "sort", "sqrt", "tanh"}
qualified = {"data", "literals", "real", "slice", "stack"}


class fault(Exception):
    pass


def call(*command, folder, **environment):
    """Returns what a command prints. The command must succeed, without a warning."""
    done = subprocess.run([str(word) for word in command], cwd=folder,
                          env=os.environ | {"LC_ALL": "C"} | environment, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode or "warning" in done.stdout.lower():
        raise fault(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def equal(found, wanted):
    if found != wanted:
        raise fault(f"found {found}, not {wanted}")


def files(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def version():
    """Returns the version of cairn, which only meson.build defines."""
    return re.search(r"^  version: '(.+)'", (top / "meson.build").read_text(), re.MULTILINE)[1]


def paragraph(words):
    """Returns the lines of code on docs/install.md that stand together and contain the words."""
    blocks = re.findall(r"^```\w+\n(.*?)^```$", (top / "docs/install.md").read_text(), re.MULTILINE | re.DOTALL)
    [found] = [lines for block in blocks for lines in block.split("\n\n") if words in lines]
    return f"{found}\n"


def required(folder, *libraries):
    """Returns what cairn.pc requires if pkg-config knows these libraries only, and the environment for that."""
    known = folder / "-".join(libraries)
    known.mkdir()
    for name in libraries:
        where = call("pkg-config", "--variable=pcfiledir", name, folder=folder).strip()
        (known / f"{name}.pc").symlink_to(f"{where}/{name}.pc")
    few = {"CXX": "g++", "PKG_CONFIG_LIBDIR": str(known)}
    call("meson", "setup", known / "build", top, f"--prefix={folder}/prefix", folder=folder, **few)
    pc = (known / "build/package/cairn.pc").read_text()
    return re.search("^Requires: (.*)$", pc, re.MULTILINE)[1], few


def installed(folder):
    """Checks that Meson and CMake install all headers, with the files for pkg-config and CMake. Nothing is built, and
    nothing that only tests need is required. zlib is required only if it is found."""
    equal(required(folder, "xsimd")[0], "xsimd")
    requires, few = required(folder, "xsimd", "zlib")
    equal(requires, "xsimd, zlib")
    prefix, build = folder / "prefix", folder / "xsimd-zlib/build"
    call("meson", "install", "-C", build, folder=folder, **few)
    headers = [f"include/{name}" for name in files(top / "include") if name.endswith(".hpp")]
    packages = ["share/cairn/cairnConfig.cmake", "share/cairn/cairnConfigVersion.cmake", "share/pkgconfig/cairn.pc"]
    equal(files(prefix), [*headers, *packages])
    call("cmake", "-S", top, "-B", folder / "cmake-itself", f"-DCMAKE_INSTALL_PREFIX={prefix}", folder=folder)
    call("cmake", "--install", folder / "cmake-itself", folder=folder, DESTDIR=str(folder / "by-cmake"))
    call("diff", "-r", prefix, f"{folder}/by-cmake{prefix}", folder=folder)
    equal(json.loads(call("meson", "introspect", "--targets", build, folder=folder)), [])
    try:
        call("meson", "setup", "-Dtests=true", folder / "tests", top, folder=folder, **few)
    except fault as wrong:
        equal("Dependency \"openblas\" not found" in str(wrong), True)
    else:
        raise fault("tests are set up without what they need")


def described(folder):
    """Returns the options for compiling and for linking that pkg-config reports."""
    return (call("pkg-config", what, "cairn", folder=folder,
                 PKG_CONFIG_PATH=f"{folder}/prefix/share/pkgconfig").split() for what in ("--cflags", "--libs"))


def linked(folder, compiler):
    """With pkg-config: two files train the programs of one header in the same way, and each file has a model of its
    own."""
    flags, libraries = described(folder)
    objects = [folder / f"{name}-{compiler}.o" for name in ("first", "second")]
    for name, made in zip(("first.cpp", "second.cpp"), objects):
        call(compiler, *strict, *flags, "-c", outside / name, "-o", made, folder=folder)
    program = folder / f"outside-{compiler}"
    call(compiler, *objects, *libraries, "-o", program, folder=folder)
    call(program, folder=folder)
    mixed(folder, compiler, flags, objects, libraries)
    blind(folder, compiler, flags)


def mixed(folder, compiler, flags, objects, libraries):
    """Checks that a program ends if one of its files was compiled for another processor, with OpenMP, or without
    exceptions. The order in which the linker reads the files does not matter. Without that file, the program works."""
    source, other = folder / f"other-{compiler}.cpp", folder / f"other-{compiler}.o"
    source.write_text("#include <cairn/cost/blocking.hpp>\n")
    others = ["-march=x86-64-v3", "-fno-exceptions"] + ["-fopenmp"] * (compiler == "g++")  # clang has no OpenMP here
    for option in ("-march=x86-64", *others):
        call(compiler, *strict, *flags, option, "-c", source, "-o", other, folder=folder)
        for order in ([other, *objects], [*objects, other]):
            program = folder / f"mixed-{compiler}"
            call(compiler, *order, *libraries, "-o", program, folder=folder)
            if option not in others:
                call(program, folder=folder)
                continue
            done = subprocess.run([program], capture_output=True, text=True)
            equal((done.returncode, done.stdout), (-signal.SIGABRT, ""))
            equal(re.sub('"baseline[^"]*"', "...", done.stderr), "cairn: files of this program are compiled in "
                  "different ways, ... and ...; compile all with one -march, and all or none with -fopenmp and with "
                  "-fno-exceptions\n")


def blind(folder, compiler, flags):
    """Checks that a program ends if it is compiled as if no number were NaN or infinite, in a way for which the
    compiler defines no macro."""
    source, program = folder / f"blind-{compiler}.cpp", folder / f"blind-{compiler}"
    pragma = '#pragma GCC optimize("Ofast")\n' if compiler == "g++" else ""
    source.write_text(pragma + "#include <cairn/cost/blocking.hpp>\nint main() {}\n")
    options = ["-fno-honor-nans", "-fno-honor-infinities"] if compiler != "g++" else ["-O2"]
    for option in options:
        call(compiler, "-std=c++20", "-O2", *flags, option, "-w", source, "-o", program, folder=folder)
        done = subprocess.run([program], capture_output=True, text=True)
        equal(done.returncode, -signal.SIGABRT)
        equal(done.stderr[:63], "cairn: this program is compiled as if no number were NaN or inf")


def with_libraries(folder, compiler):
    """Compiles users' tests and benchmarks with the libraries that they are for."""
    flags, libraries = described(folder)
    for name, option, library, *arguments in (
            ("checks", "-DBOOST_TEST_DYN_LINK", "-lboost_unit_test_framework"),
            ("benchmarks", "-pthread", "-lbenchmark", "--benchmark_min_time=0.001", "--benchmark_format=json")):
        program = folder / f"{name}-{compiler}"
        call(compiler, *strict, *flags, option, top / f"examples/{name}.cpp", "-o", program, library, *libraries,
             folder=folder)
        call(program, *arguments, folder=folder)


def included(build):
    """Returns the folders of headers in the first command of a build of CMake."""
    [command, *_] = json.loads((build / "compile_commands.json").read_text())
    return {os.path.normpath(path) for path in re.findall(r"-(?:I|isystem) ?(/\S+)", command["command"])}


def found(folder):
    """With CMake: find_package(cairn) finds this version and older ones, also after the installed files were moved."""
    call("cmake", "-S", outside, "-B", folder / "cmake", f"-DCMAKE_PREFIX_PATH={folder}/prefix",
         "-DCMAKE_CXX_COMPILER=g++", folder=folder)
    call("cmake", "--build", folder / "cmake", folder=folder)
    call(folder / "cmake/outside", folder=folder)
    moved = folder / "moved"
    shutil.copytree(folder / "prefix", moved)
    call("cmake", "-S", outside, "-B", folder / "cmake-moved", f"-DCMAKE_PREFIX_PATH={moved}",
         "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", folder=folder)
    equal(included(folder / "cmake-moved"), {str(moved / "include")})


def imported(folder):
    """Builds the check of a model that tools/cairn-import wrote, with its files for CMake and for Meson, and runs it."""
    project = folder / "imported"
    shutil.copytree(top / "tests/kept/import/digits", project)
    call("cmake", "-S", project, "-B", project / "cmake", f"-DCMAKE_PREFIX_PATH={folder}/prefix",
         "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_BUILD_TYPE=Debug", folder=folder)
    call("cmake", "--build", project / "cmake", "--target", "check", folder=folder)
    call("meson", "setup", project / "meson", project, "--buildtype=debug", folder=folder, CXX="g++",
         PKG_CONFIG_PATH=f"{folder}/prefix/share/pkgconfig")
    call("ninja", "-C", project / "meson", "check", folder=folder)
    for way in ("cmake", "meson"):
        equal(call(project / way / "check", folder=project).splitlines()[-1], "The model agrees with PyTorch's numbers.")


def cmake_project(folder, way, *before):
    """Writes a project of CMake with the lines of docs/install.md that contain `way`, in a new folder. The lines in
    `before` precede the lines of the page. Returns the command that configures the project."""
    folder.mkdir()
    (folder / "cairn").symlink_to(top)
    shutil.copy(outside / "taken.cpp", folder / "model.cpp")
    (folder / "CMakeLists.txt").write_text("\n".join([
        "cmake_minimum_required(VERSION 3.16)", "project(model CXX)", "add_executable(model model.cpp)", *before,
        paragraph(way), paragraph("target_link_libraries(")]))
    options = ["-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    return "cmake", "-S", folder, "-B", folder / "build", *options


def from_sources(folder):
    """With CMake, from the sources: a program builds that needs xsimd and zlib. Nothing of cairn is installed with the
    program. FetchContent makes the same target."""
    project = folder / "added"
    call(*cmake_project(project, "add_subdirectory("), folder=folder)
    call("cmake", "--build", project / "build", folder=folder)
    call(project / "build/model", folder=folder)
    call("cmake", "--install", project / "build", folder=folder, DESTDIR=str(project / "installed"))
    equal((project / "installed").exists(), False)
    fetched = folder / "fetched"
    call(*cmake_project(fetched, "FetchContent_Declare("), f"-DFETCHCONTENT_SOURCE_DIR_CAIRN={top}", folder=folder)
    equal(included(fetched / "build"), {str(top / "include")})


def with_few(folder):
    """With CMake, from the sources and installed: xsimd is the only library that must be found. A target xsimd of the
    project is used. Without xsimd, the error names it."""
    own = folder / "own"
    own.mkdir()
    target = ["add_library(xsimd INTERFACE)", f"target_include_directories(xsimd INTERFACE {own})"]
    without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("ZLIB", "nlohmann_json", "Boost")]
    for name, way, headers in (("added", "add_subdirectory(", folder / "few-added/cairn/include"),
                               ("found", "find_package(", folder / "prefix/include")):
        project, prefix = folder / f"few-{name}", f"-DCMAKE_PREFIX_PATH={folder}/prefix"
        call(*cmake_project(project, way, *target), *without, prefix, folder=folder)
        equal(included(project / "build"), {str(headers), str(own)})
        equal("libz" in (project / "build/CMakeFiles/model.dir/link.txt").read_text(), False)
        try:
            call(*cmake_project(folder / f"none-{name}", way), "-DCMAKE_DISABLE_FIND_PACKAGE_xsimd=ON", prefix,
                 folder=folder)
        except fault as wrong:
            equal("cairn needs xsimd, and CMake found no package xsimd" in " ".join(str(wrong).split()), True)
        else:
            raise fault(f"{way}...) works without xsimd")


def debian(folder):
    """Checks the package of Debian: what it depends on, its files, and that pkg-config and CMake find its headers."""
    call(top / "package/deb.sh", folder / "debian", folder=folder)
    [made] = (folder / "debian").iterdir()
    equal(made.name, f"libcairn-dev_{version()}_all.deb")
    fields = call("dpkg-deb", "-f", made, "Version", "Depends", "Recommends", folder=folder).splitlines()
    equal(fields, [f"Version: {version()}", "Depends: libxsimd-dev",
                   "Recommends: libboost-dev, nlohmann-json3-dev, zlib1g-dev"])
    call("dpkg-deb", "-x", made, folder / "unpacked", folder=folder)
    usr = folder / "unpacked/usr"
    equal(files(usr), sorted([*files(folder / "prefix"), "share/doc/libcairn-dev/copyright"]))
    flags = call("pkg-config", f"--define-variable=prefix={usr}", "--cflags", "--libs", "cairn", folder=folder,
                 PKG_CONFIG_PATH=f"{usr}/share/pkgconfig").split()
    equal(set(flags), {f"-I{usr}/include"})
    call("g++", *strict, *flags, "-fsyntax-only", outside / "taken.cpp", folder=folder)
    project = folder / "of-debian"
    call(*cmake_project(project, "find_package("), f"-DCMAKE_PREFIX_PATH={usr}", folder=folder)
    equal(included(project / "build"), {str(usr / "include")})


def versions(_):
    """Checks that files name the version of meson.build. Programs ask find_package for its first two numbers."""
    short = version().rpartition(".")[0]
    for name, pattern, wanted in (
            ("CHANGELOG.md", r"\A(?:.*\n)*?## ([\d.]+)", version()),
            ("CITATION.cff", r"^version: (.+)", version()),
            ("docs/install.md", r"(?:GIT_TAG v|cairn/|libcairn-dev_)(\d[\d.]*\d)", version()),
            ("docs/install.md", r"find_package\(cairn ([\d.]+)", short),
            ("package/cairn.wrap", r"^revision = v(.+)", version()),
            ("package/vcpkg/vcpkg.json", r'^  "version": "(.+)"', version()),
            ("tests/install/CMakeLists.txt", r"find_package\(cairn ([\d.]+)", short),
            ("tools/cairn_import/programs.py", r"find_package\(cairn ([\d.]+)", short)):
        named = set(re.findall(pattern, (top / name).read_text(), re.MULTILINE))
        if named != {wanted}:
            raise fault(f"{name} names {named}, not {wanted}")


def subproject(folder):
    """Compiles the same files as another Meson project, linked with -flto. Nothing of cairn is built or tested
    there."""
    project, build = folder / "outside", folder / "outside/build"
    shutil.copytree(outside, project)
    cairn = project / "subprojects/cairn"
    cairn.mkdir(parents=True)
    for name in ("include", "meson.build", "meson_options.txt"):
        (cairn / name).symlink_to(top / name)
    call("meson", "setup", build, project, "--force-fallback-for=cairn", folder=folder, CXX="g++")
    for what, wanted in {"targets": ["outside"], "tests": []}.items():
        listed = json.loads(call("meson", "introspect", f"--{what}", build, folder=folder))
        equal([one["name"] for one in listed], wanted)
    call("ninja", "-C", build, "-j1", folder=folder)
    call(build / "outside", folder=folder)


def beside(folder, compiler):
    """Compiles a program with `using namespace cairn; using namespace std;` and with the checks of the standard
    library. The compiler must not find a violation during constant evaluation. g++ only checks the syntax, because
    names are looked up in the same way and generating code takes half of the time."""
    program = folder / f"names-{compiler}"
    made = ["-fsyntax-only"] if compiler == "g++" else ["-o", program, "-lz"]
    call(compiler, *strict, "-D_GLIBCXX_DEBUG", f"-I{top}/include", outside / "names.cpp", *made, folder=folder)
    if program.exists():
        call(program, folder=folder)


def embedded(folder, compiler):
    """Checks a program for a device. It is compiled without exceptions. An error is reported to a function of the user,
    or ends the program with a message. The header includes little."""
    program, source = folder / f"embedded-{compiler}", outside / "embedded.cpp"
    call(compiler, *strict, *device, f"-I{top}/include", source, "-o", program, folder=folder)
    text = "cairn: bytes of memory: expected 1472, got 1471\n"
    equal(call(program, folder=folder).splitlines(True)[1:], [f"refused: {text}"])
    done = subprocess.run([program, "as it is"], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (-signal.SIGABRT, text))
    brought = call(compiler, "-std=c++20", f"-I{top}/include", "-M", source, folder=folder)
    equal({header for header in large if f"/{header} " in brought.replace("\n", " ")}, set())


def names(folder, scope, text):
    """Returns the names that clang proposes after `scope::`."""
    file = folder / f"names-{scope or 'global'}.cpp"
    file.write_text(f"{text}auto x = {scope}::\n;\n")
    place = f"{file}:{text.count(chr(10)) + 1}:{len(f'auto x = {scope}::') + 1}"
    # clang ends with an error, because the program is not complete.
    printed = subprocess.run(["clang++-19", "-std=c++20", f"-I{top}/include", "-fsyntax-only", "-Xclang",
                              f"-code-completion-at={place}", file], capture_output=True, text=True).stdout
    found = set(re.findall(r"^COMPLETION: (\w+) :", printed, re.MULTILINE))
    if not found:
        raise fault(f"{scope}:: has no names")
    return found


# Declarations that other libraries make for a name before cairn's headers. The kind "std" only has `using namespace
# std`.
declared = {
    "std": None,
    "object": "extern int {};",
    "class": "struct {} {{}};",
    "template": "template <class> struct {} {{}};",
}
keywords = set("""alignas alignof auto bool break case catch char char8_t class concept const const_cast consteval
    constexpr constinit continue decltype default delete do double else enum explicit extern false float for friend goto
    if inline int long mutable namespace new noexcept not nullptr operator or private protected public
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typename union unsigned using virtual void volatile while xor""".split())
# Namespaces of libraries, and names that the system's headers define as macros or that are compiler built-ins.
taken = {"boost", "cairn", "hana", "nlohmann", "std", "xsimd", "asm", "defined", "main"}


def identifiers():
    """Returns all names in cairn's headers."""
    found = set()
    for header in (top / "include").rglob("*.hpp"):
        code = re.sub(r'R"(\w*)\((.|\n)*?\)\1"', "", header.read_text())
        code = re.sub(r'//.*|"(\\.|[^"\\\n])*"|^ *#.*(\\\n.*)*$', "", code, flags=re.MULTILINE)
        found |= set(re.findall(r"(?<![\w.'])[A-Za-z]\w*", code))
    return found - keywords - taken


def hidden(folder, kind):
    """Compiles cairn behind the names of others. These are std's names, or each name that cairn's headers contain and
    the system's headers do not."""
    headers = ("fcntl.h", "nlohmann/json.hpp", "sys/ioctl.h", "sys/stat.h", "zlib.h")
    text = others + "".join(f"#include <{name}>\n" for name in headers)
    if kind == "std":
        text += "using namespace std;\n"
    else:
        printed = subprocess.run(["clang++-19", "-std=c++20", "-dM", "-E", "-x", "c++", "-"], input=text, text=True,
                                 capture_output=True, check=True).stdout
        macros = set(re.findall(r"^#define (\w+)", printed, re.MULTILINE))
        free = sorted(identifiers() - macros - names(folder, "", text))
        if len(free) < 3000:
            raise fault(f"{len(free)} names are too few")
        text += "\n".join(["namespace theirs {", *map(declared[kind].format, free), "}\nusing namespace theirs;\n"])
    before = folder / f"before-{kind}.hpp"
    before.write_text(text)
    call("clang++-19", "-std=c++20", f"-I{top}/include", "-include", before, "-fsyntax-only", outside / "hidden.cpp",
         folder=folder)


# Macros of Qt, of X11, of Windows, of <complex.h> and of <term.h>, and one-letter macros for sizes and types.
macros = {
    "emit": "", "slots": "", "signals": "public", "forever": "for (;;)", "foreach(a, b)": "for (a : b)", "Above": "0",
    "None": "0L", "Bool": "int", "Status": "int", "Always": "2", "Success": "0", "True": "1", "False": "0",
    "near": "", "far": "", "small": "char", "interface": "struct", "IN": "", "OUT": "", "ERROR": "0", "leave": "__leave",
    "DELETE": "1", "CONST": "const", "min(a, b)": "((a) < (b) ? (a) : (b))", "max(a, b)": "((a) > (b) ? (a) : (b))",
    "major(d)": "((d) >> 8)", "minor(d)": "((d) & 255)", "unix": "1", "linux": "1", "B0": "0", "I": "_Complex_I",
    "columns": "cur[0]", "lines": "cur[1]",
    **{letter: "1" for letter in "ABCDEFGHJKLMNOPQRSTUVWXYZ"},
}


def behind_macros(folder, compiler):
    """Checks that macros of others change nothing inside cairn's headers, and that they are unchanged behind them."""
    file = folder / f"macros-{compiler}.cpp"
    includes = [line for line in (outside / "hidden.cpp").read_text().splitlines() if line.startswith("#include")]
    after = 'static_assert(max(2, 3) + A + small(0) == 4, "macros are as they were");\nint main() {}\n'
    defined = [f"#define {name} {text}" for name, text in macros.items()]
    file.write_text("\n".join(["#include <vector>", *defined, *includes, after]))
    call(compiler, *strict, f"-I{top}/include", "-fsyntax-only", file, folder=folder)


def shared(folder):
    """Checks that cairn shares only the names above with std and POSIX."""
    ours = names(folder, "cairn", "".join(f"#include <{header}>\n" for header in files(top / "include")))
    equal(ours & (names(folder, "std", others) | names(folder, "", others)), overloads | qualified)


# Two mistakes: a model, and the options of a compilation.
mistakes = [("using namespace cairn;\nconstexpr auto gate = layer([](auto x) { return x * detach(sigmoid(x)); });\n"
             "constexpr auto gated = input<\"x\", 8> | repeat<4, \"b\">([](auto) { return ckpt<\"gate\">(gate); });\n", []),
            ("", ["-funsafe-math-optimizations"])]
# Headers that cairn.hpp includes in one file, apart from those of the standard library.
not_standard = {"omp.h", "pthread.h", "sys/ioctl.h", "sys/syscall.h", "unistd.h", "xsimd/xsimd.hpp"}


def in_one_header(folder, compiler):
    """Checks the two files that package/single.py writes. The quickstart compiles with all headers in one; clang also
    makes the program, which trains. With cairn.hpp in one, a mistake is the same error as with the folder, and this file
    includes nothing but the standard library, the system and xsimd."""
    one, program = folder / f"one-{compiler}", folder / f"one-{compiler}/quickstart"
    call(top / "package/single.py", one, folder=folder)
    source = (top / "examples/quickstart.cpp").read_text()
    program.with_suffix(".cpp").write_text(re.sub(r"#include <cairn/.*>\n", "", f"#include <cairn_all.hpp>\n{source}"))
    made = ["-fsyntax-only"] if compiler == "g++" else ["-O1", "-march=native", "-o", program, "-lz"]
    call(compiler, *strict, f"-I{one}", program.with_suffix(".cpp"), *made, folder=folder)
    if program.exists():
        equal("step 100  loss 0." in call(program, folder=folder), True)
    for text, options in mistakes:
        printed = [compile_text(compiler, f"#include <{name}>\n{text}", *options)[1]
                   for name in (one / "cairn.hpp", "cairn/cairn.hpp")]
        found = [re.findall(r"(cairn \[.*)?:\d+:\d+: ((?:fatal )?error|note): (.*)", each) for each in printed]
        equal(found[0], found[1])
        equal([kind for _, kind, _ in found[0]].count("note") + 1, len(found[0]))
    included = re.findall(r"^ *#include <(\S+)>", (one / "cairn.hpp").read_text(), re.MULTILINE)
    equal({name for name in included if "." in name}, not_standard)
    read = call(compiler, "-std=c++20", "-M", "-x", "c++", one / "cairn.hpp", folder=folder)
    equal("/xsimd/" in read and str(top) not in read and "cairn/" not in read.replace(f"{one}/cairn", ""), True)


def judge(job):
    check, *arguments = job
    try:
        check(*arguments)
    except (fault, OSError) as wrong:
        return str(wrong)
    return ""


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [(check, folder) for check in (installed, found, imported, from_sources, with_few, debian, subproject, shared)]
        jobs += [(versions, folder)] + [(hidden, folder, kind) for kind in declared]
        each = (linked, with_libraries, beside, behind_macros, embedded, in_one_header)
        jobs += [(check, folder, compiler) for check in each for compiler in compilers]
        results = chain([judge(jobs[0])], for_each(judge, jobs[1:]))
        for (check, _, *about), wrong in zip(jobs, results):
            print("FAIL" if wrong else "ok  ", check.__name__, *about, wrong, flush=True)
            passed += not wrong
            failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main()
