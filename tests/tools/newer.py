#!/usr/bin/env -S python3 -B
"""Compiles cairn with newer tools than Debian 12 has by default: newer.py [FOLDER OF ANOTHER XSIMD'S HEADERS]

Each row of `tools` must compile all headers in one file without a warning, and must pass some tests of kernels, laws,
readers of data and the training loop. If a folder is given, both usual compilers do the same with the xsimd in this
folder.
"""

import sys
import tempfile
from pathlib import Path

from aarch64 import runner
from compilers import compilers, finish, for_each, top
from matrix import call

tools = {
    "clang 22": ["clang++-22"],
    "clang 19, libc++": ["clang++-19", "-stdlib=libc++"],
}
# Boost 1.74 must be told that std::unary_function does not exist in libc++.
flags = ["-std=c++20", "-O1", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Wno-psabi", "-Werror", "-Iinclude",
         "-Itests", "-DBOOST_NO_CXX98_FUNCTION_BASE"]
tests = ["run/kernel_elementwise", "run/kernel_extremum", "run/kernel_gemm", "run/kernel_halves", "run/kernel_moments",
         "run/kernel_norm", "run/kernel_softmax", "run/batches", "run/data_files", "run/loop", "laws/nesting",
         "laws/tensors"]


def faults(command):
    """Yields what is checked for a compiler with its options, and what is wrong or an empty text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every, main, program = folder / "every.cpp", folder / "main.cpp", folder / "program"
        # C++20 has no std::mdspan; the suite `headers` compiles its header. The suite `ranks` compiles mpi.hpp.
        headers = sorted(str(path.relative_to(top / "include")) for path in (top / "include").rglob("*.hpp")
                         if path.name not in ("mdspan.hpp", "mpi.hpp"))
        every.write_text("".join(f"#include <{header}>\n" for header in headers))
        main.write_text(runner)
        compiled, printed, _ = call([*command, *flags, "-fsyntax-only", str(every)])
        yield "headers", "" if compiled else printed
        sources = [main, *(top / f"tests/{test}.cpp" for test in tests)]
        objects = [str(folder / f"{source.stem}.o") for source in sources]
        for test, (compiled, printed, _) in zip(["main", *tests], for_each(call, [
                [*command, *flags, "-c", str(source), "-o", made] for source, made in zip(sources, objects)])):
            yield f"{test} compiles", "" if compiled else printed
        linked, printed, _ = call([*command, *objects, "-o", str(program), "-lz"])
        passed, printed, _ = call([str(program)]) if linked else (False, printed, 0)
        yield "tests pass", "" if passed else printed


def main(xsimd=""):
    if xsimd and not (Path(xsimd) / "xsimd/xsimd.hpp").is_file():
        sys.exit(f"{xsimd} has no xsimd/xsimd.hpp")
    rows = dict(tools)
    if xsimd:
        rows |= {f"{compiler}, other xsimd": [compiler, "-isystem", str(Path(xsimd).resolve())] for compiler in compilers}
    passed = failed = 0
    for row, command in rows.items():
        for what, wrong in faults(command):
            print("FAIL" if wrong else "ok  ", f"{row}: {what}", wrong[:4000], flush=True)
            passed += not wrong
            failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
