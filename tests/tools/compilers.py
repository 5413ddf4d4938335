"""Calls both compilers in the same way, for the suites that only compile."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

top = Path(__file__).resolve().parents[2]
compilers = ["g++", "clang++-19"]
_flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Iinclude"]
# g++ may fill 800 MB before it looks for garbage, which takes up to a fifth of its time.
own_flags = {"g++": ["--param=ggc-min-heapsize=800000"], "clang++-19": []}


def compile_file(compiler, source, *options, syntax_only=True):
    """Returns whether the compiler accepts the file, and everything that it prints."""
    return _call(compiler, *["-fsyntax-only"] * syntax_only, *options, str(source))


def compile_text(compiler, text, *options, syntax_only=True):
    return _call(compiler, *["-fsyntax-only"] * syntax_only, *options, "-x", "c++", "-", stdin=text)


def precompiled(compiler, folder):
    """Returns options with which the headers that describe and check models are precompiled. Small files spend most of
    their time in these headers. Kernels are not included, because small files do not need them."""
    without_kernels = (top / "include/cairn/embedded.hpp").read_text().partition('#include "cairn/run/')[0]
    header = Path(folder) / "models.hpp"
    header.write_text(f"{without_kernels}#include <xsimd/xsimd.hpp>\n")
    ready = header.with_suffix(".hpp.gch" if compiler == "g++" else ".pch")
    accepted, printed = compile_file(compiler, header, "-x", "c++-header", "-o", str(ready), syntax_only=False)
    if not accepted:
        sys.exit(printed)
    return ["-include", str(header)] if compiler == "g++" else ["-include-pch", str(ready)]


def _call(compiler, *arguments, stdin=None):
    done = subprocess.run([compiler, *_flags, *own_flags[compiler], *arguments], cwd=top,
                          env=os.environ | {"LC_ALL": "C"}, input=stdin, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    # clang knows the precompiled headers by absolute paths
    return done.returncode == 0, done.stdout.replace(f"{top}/", "")


def for_each(function, items):
    """Yields the results in order. Two items are processed at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(function, items)


def report(checks):
    """Prints each check with what is wrong, which is an empty text if nothing is wrong, and then the last line."""
    passed = failed = 0
    for what, wrong in checks:
        print("FAIL" if wrong else "ok  ", what, wrong, flush=True)
        passed += not wrong
        failed += bool(wrong)
    finish(passed, failed)


def finish(passed, failed):
    """Prints the last line of every suite, which tally.py adds up. A suite that has checked nothing has failed."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)
