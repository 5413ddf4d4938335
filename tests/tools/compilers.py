"""Both compilers, called alike, for the suites that only compile."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

top = Path(__file__).resolve().parents[2]
compilers = ["g++", "clang++-19"]
_flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Iinclude"]
# g++ may fill 800 MB before it looks for garbage, which takes up to a fifth of its time.
_own_flags = {"g++": ["--param=ggc-min-heapsize=800000"], "clang++-19": []}


def compile_file(compiler, source, *options, syntax_only=True):
    """Whether the compiler accepts the file, and all it prints."""
    return _call(compiler, *["-fsyntax-only"] * syntax_only, *options, str(source))


def compile_text(compiler, text, *options):
    return _call(compiler, "-fsyntax-only", *options, "-x", "c++", "-", stdin=text)


def precompiled(compiler, folder):
    """Options with which what says and checks models is read already, for most of a small file's time goes there;
    without kernels, which these do not need."""
    without_kernels = (top / "include/cairn/embedded.hpp").read_text().partition('#include "cairn/run/')[0]
    header = Path(folder) / "models.hpp"
    header.write_text(f"{without_kernels}#include <xsimd/xsimd.hpp>\n")
    ready = header.with_suffix(".hpp.gch" if compiler == "g++" else ".pch")
    accepted, printed = compile_file(compiler, header, "-x", "c++-header", "-o", str(ready), syntax_only=False)
    if not accepted:
        sys.exit(printed)
    return ["-include", str(header)] if compiler == "g++" else ["-include-pch", str(ready)]


def _call(compiler, *arguments, stdin=None):
    done = subprocess.run([compiler, *_flags, *_own_flags[compiler], *arguments], cwd=top,
                          env=os.environ | {"LC_ALL": "C"}, input=stdin, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.replace(f"{top}/", "")  # what is precompiled clang knows by whole paths


def for_each(function, items):
    """The results in order; two run at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(function, items)


def finish(passed, failed):
    """The last line of every suite, which tally.py adds up. To have checked nothing is to fail."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)
