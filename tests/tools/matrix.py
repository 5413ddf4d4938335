#!/usr/bin/env -S python3 -B
"""Runs the laws, the tests of gradients and the tests of kernels on every compiler, optimization level and processor.
Compiles the suite `static` and the programs of the pages with every compiler: matrix.py [PART OF A CELL]

Each cell of the grid is built separately. Code that this processor cannot run is only compiled, and the table says so.
A cell takes about twenty minutes on two cores. Without a part of a name, a quarter of the cells runs: each compiler for
each processor, with optimization levels in turn, so that each compiler also runs each level.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import operations
import readme
from accepts import accepted, static
from compilers import compilers, finish, for_each, top

optimizations = ["-O0", "-O2", "-O3", "-O3 -flto"]
processors = {  # with the features that the processor must have
    "x86-64": "",
    "sandybridge": "avx pclmulqdq aes xsave",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "cooperlake": "avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni avx512_bf16 clflushopt clwb",
    "sapphirerapids": "amx_tile amx_bf16 amx_int8 avx512_fp16",
}
flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DBOOST_TEST_DYN_LINK", "-DEVERY_LAW",
         "-Iinclude", "-Itests"]
false_alarms = {"g++": ["-Wno-restrict"], "clang++-19": []}  # GCC bug 105651

# these tests check no numbers, so they give the same result in every cell
elsewhere = ["allocation", "counted", "learning"]
patterns = ["laws/*.cpp", "run/kernel_*.cpp", "run/gradients_*.cpp", "run/joined.cpp", "run/scan.cpp",
            "run/scan_more.cpp", "run/stencils.cpp", "run/main.cpp"]
sources = [file for pattern in patterns
           for file in sorted((top / "tests").glob(pattern)) if file.stem not in elsewhere]


def runs(processor):
    here = Path("/proc/cpuinfo").read_text().split()
    needed = processors[processor].split()
    return all(flag in here for flag in needed + (processors["x86-64-v3"].split() if needed else []))


def call(command):
    """Returns whether a command succeeds, everything that it prints, and its time in seconds."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=top, env=os.environ | {"LC_ALL": "C"}, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout, time.monotonic() - start


def judge(compiler, optimization, processor):
    """Returns whether a cell compiles, whether it passes (None if it cannot run), its seconds, and what is wrong."""
    options = [*optimization.split(), f"-march={processor}"]
    with tempfile.TemporaryDirectory() as folder:
        jobs = [[compiler, *flags, *false_alarms[compiler], *options, "-c", str(source), "-o",
                 f"{folder}/{source.stem}.o"] for source in sources]
        start = time.monotonic()
        faults = [printed for ok, printed, _ in for_each(call, jobs) if not ok]
        program = f"{folder}/program"
        if not faults:
            objects = [job[-1] for job in jobs]
            ok, printed, _ = call([compiler, *options, *objects, "-o", program, "-lboost_unit_test_framework", "-lz"])
            faults = [] if ok else [printed]
        compiling = time.monotonic() - start
        if faults:
            return False, None, compiling, 0, faults[0]
        if not runs(processor):
            return True, None, compiling, 0, ""
        ok, printed, running = call([program])
        return True, ok, compiling, running, "" if ok else printed


def judge_static(compiler):
    """Returns the same for the code that is only compiled, including the programs of the pages."""
    start = time.monotonic()
    found = for_each(accepted, [(compiler, name, text) for name, text in static().items()])
    faults = [printed for ok, printed in found if not ok]
    faults += [operations.faults_with(compiler), *(readme.program_faults(name, compiler) for name in readme.programs)]
    return not any(faults), None, time.monotonic() - start, 0, "".join(faults)


def is_in_quarter(compiler, optimization, processor):
    turn = list(processors).index(processor) + 2 * compilers.index(compiler)
    return optimization == optimizations[turn % len(optimizations)]


def main(part=""):
    grid = [(compiler, optimization, processor) for compiler in compilers for optimization in optimizations
            for processor in processors] + [(compiler, "static") for compiler in compilers]
    if not part:
        grid = [cell for cell in grid if len(cell) == 2 or is_in_quarter(*cell)]
    print(f"{'cell':34} compiled  ran           compiling  running")
    passed = failed = 0
    for cell in grid:
        name = " ".join(cell)
        if part not in name:
            continue
        judged = judge_static(cell[0]) if cell[1] == "static" else judge(*cell)
        compiled, ran, compiling, running, printed = judged
        outcome = "no, not here" if ran is None else "passed" if ran else "FAILED"
        print(f"{name:34} {'yes' if compiled else 'FAILED':9} {outcome if compiled else '':13}"
              f" {compiling:7.0f} s {running:6.1f} s", flush=True)
        print(printed[:4000], end="", flush=True)
        passed += compiled and ran is not False
        failed += not compiled or ran is False
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
