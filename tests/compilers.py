"""Both compilers, called alike, for the suites that only compile."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

top = Path(__file__).resolve().parents[1]
compilers = ["g++", "clang++-19"]
_flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Iinclude"]


def compile_file(compiler, source, *options, syntax_only=True):
    """Whether the compiler accepts the file, and all it prints."""
    return _call(compiler, *["-fsyntax-only"] * syntax_only, *options, str(source))


def compile_text(compiler, text, *options):
    return _call(compiler, "-fsyntax-only", *options, "-x", "c++", "-", stdin=text)


def _call(compiler, *arguments, stdin=None):
    done = subprocess.run([compiler, *_flags, *arguments], cwd=top, env=os.environ | {"LC_ALL": "C"},
                          input=stdin, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def for_each(function, items):
    """The results in order; two run at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(function, items)


def finish(passed, failed):
    """The last line of every suite, which tally.py adds up. To have checked nothing is to fail."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)
