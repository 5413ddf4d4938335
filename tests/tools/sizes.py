#!/usr/bin/env -S python3 -B
"""Compares the code of two programs with limits: the bytes of code, the symbols and the bytes of the object at
-O3 -march=x86-64-v3, and the class templates that clang specializes. Unlike seconds, these figures are the same in each
run. The limits hold for the compilers of Debian 12. For other versions, the figures are printed only.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import compilers, finish, for_each, top

sys.path.append(str(top / "bench"))
import compile as benchmark  # noqa: E402

programs = {
    "README's program": (top / "examples/quickstart.cpp").read_text(),
    "eight different layers": benchmark.distinct(8, 32),
}
limits = {  # kilobytes of code and of the object, symbols, thousands of specializations
    ("README's program", "g++ 12"): (112, 310, 515, None),
    ("README's program", "clang 19"): (106, 305, 673, 12.0),
    ("eight different layers", "g++ 12"): (81, 268, 345, None),
    ("eight different layers", "clang 19"): (72, 244, 499, 11.6),
}


def version(compiler):
    printed = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    number = re.search(r" (\d+)\.\d+\.\d+", printed)[1]
    return f"{'clang' if 'clang' in printed else 'g++'} {number}"


def figures(program, compiler):
    """The figures of a program in the order of the limits."""
    command = [compiler, "-std=c++20", "-march=x86-64-v3", "-Iinclude", "-x", "c++", "-"]
    call = {"cwd": top, "input": programs[program], "text": True, "capture_output": True, "check": True}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "program.o"
        subprocess.run([*command, "-O3", "-c", "-o", target], **call)
        code = int(subprocess.run(["size", target], text=True, capture_output=True, check=True).stdout.split("\n")[1].split()[0])
        symbols = subprocess.run(["nm", target], text=True, capture_output=True, check=True).stdout.count("\n")
        size = target.stat().st_size
    specialized = None
    if "clang" in compiler:
        printed = subprocess.run([*command, "-fsyntax-only", "-Xclang", "-print-stats"], **call).stderr
        specialized = int(re.search(r"(\d+) ClassTemplateSpecialization decls", printed)[1]) / 1000
    return code / 1024, size / 1024, symbols, specialized


def main():
    failed = 0
    jobs = [(program, compiler) for program in programs for compiler in compilers]
    for (program, compiler), found in zip(jobs, for_each(lambda job: figures(*job), jobs)):
        limit = limits.get((program, version(compiler)), (None,) * len(found))
        above = [number for number, most in zip(found, limit) if number and most and number > most]
        print("FAIL" if above else "ok  ", f"{program}, {version(compiler)}:",
              ", ".join(f"{number:.1f} (at most {most})" for number, most in zip(found, limit) if number))
        failed += bool(above)
    finish(len(jobs) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
