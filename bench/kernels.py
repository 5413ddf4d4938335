#!/usr/bin/env -S python3 -B
"""Measures every kernel on one thread, compiled for three processors: kernels.py [PART OF A NAME]

bench/kernels.cpp has the benchmarks. A kernel with at least two operations for each byte of its operands is shown in
GFLOP/s. All other kernels are shown in GB/s. The programs take turns, and each figure is the median of the rounds. The
column "of the roof" is for the last processor. It is the time that the kernel would take at the limits of arithmetic
and memory that roof.hpp measures, divided by the time that the kernel takes.
"""

import json
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

top = Path(__file__).resolve().parents[1]
build = top / "build/bench"
rounds = 5
processors = {"x86-64": ("x86-64", "sse2"), "AVX2": ("x86-64-v3", "avx2"), "AVX-512": ("x86-64-v4", "avx512vl")}
intense = 2  # operations for each byte, from which on GFLOP/s are shown


def described():
    """Returns the model of the processor, and its flags."""
    text = Path("/proc/cpuinfo").read_text()
    first = {name: re.search(rf"^{name}\s*: (.*)$", text, re.MULTILINE)[1] for name in ("model name", "flags")}
    return first["model name"], first["flags"].split()


def compiled(march):
    """Compiles the program, unless it is newer than its sources. Returns its path."""
    program, source = build / f"kernels-{march}", top / "bench/kernels.cpp"
    changed = max(file.stat().st_mtime for file in [source, *(top / "include").rglob("*.hpp")])
    if not program.exists() or program.stat().st_mtime < changed:
        build.mkdir(parents=True, exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-O3", f"-march={march}", "-Wno-psabi", f"-I{top / 'include'}", source, "-o",
                        program, "-lbenchmark", "-lz"], check=True)
    return program


def measured(program, part):
    """Returns the counters of each benchmark, by its name."""
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.02",
                           f"--benchmark_filter={part or '.'}"], text=True, stdout=subprocess.PIPE, check=True)
    return {one["name"]: one for one in json.loads(done.stdout)["benchmarks"]}


def median(runs, name, counter):
    return statistics.median(run[name].get(counter, 0) for run in runs)


def row(name, runs):
    """Returns a kernel's name, its unit, a figure for each processor, and the share of the roof."""
    last = list(runs.values())[-1]
    busy = median(last, name, "GFLOP/s") >= intense * median(last, name, "GB/s")
    unit = "GFLOP/s" if busy else "GB/s"
    figures = [f"{median(of, name, unit):.3g}" for of in runs.values()]
    return [name, unit, *figures, f"{median(last, name, '%roof'):.0f} %"]


def main(part=""):
    kind, has = described()
    columns = {name: march for name, (march, flag) in processors.items() if flag in has}
    with ThreadPoolExecutor(2) as pool:
        programs = dict(zip(columns, pool.map(compiled, columns.values())))
    runs = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            runs[name].append(measured(program, part))
    print(f"{kind}, one thread, medians of {rounds} rounds\n")
    print("| kernel | unit |", " | ".join(columns), "| of the roof |")
    print("|---" * (len(columns) + 3) + "|")
    for name in list(runs.values())[-1][0]:
        print("|", " | ".join(row(name, runs)), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
