#!/usr/bin/env -S python3 -B
"""seeds.py NAME [EPOCHS] [SEEDS]: compares how well an example learns with mixed<bf16> and in float. Prints the
validation at the end of each run, by seed, and the mean, the lowest and the highest one. The default is five seeds,
which are 1 to 5.

The example is compiled as it is, and a second time with the option in its programs. The predictors, which validate, are
float in both. Runs of one seed see the same batches in the same order, and begin with the same weights. They run at the
same time, each on one thread. This changes no number.
"""

import csv
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scenario import build, compile_program, top

sources = {"floats": "", "bf16": "mixed<bf16>, "}


def compiled(name, numbers):
    """Compiles an example, with the option in its programs or without it. Returns the path of the program."""
    text, found = re.subn(r"(?=update<adamw_options)", sources[numbers], (top / f"examples/{name}.cpp").read_text())
    if found == 0:
        sys.exit(f"examples/{name}.cpp has no step with an update")
    source, target = build / "seeds" / f"{name}_{numbers}.cpp", build / "seeds" / f"{name}_{numbers}"
    source.parent.mkdir(parents=True, exist_ok=True)
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    compile_program(source, target, f"-I{top / 'examples'}", str(top / "examples/arguments.cpp"), "-lz")
    return target


def validated(program, name, epochs, seed):
    """Returns the last validation in the log of a run."""
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data", str(top / "build/bible.txt")] if name in ("gpt", "lstm") else []
        arguments = ["--epochs", epochs, "--seed", str(seed), "--threads", "1", "--run", folder, *data]
        done = subprocess.run([program, *arguments], text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        with open(Path(folder) / "log.csv") as log:
            return [float(row["validation"]) for row in csv.DictReader(log) if row["validation"]][-1]


def main(name, epochs="5", seeds="5"):
    found = {numbers: [] for numbers in sources}
    programs = {numbers: compiled(name, numbers) for numbers in sources}
    print("seed ", *(f"{numbers:>9}" for numbers in sources))
    for seed in range(1, int(seeds) + 1):
        with ThreadPoolExecutor() as together:
            runs = {numbers: together.submit(validated, program, name, epochs, seed)
                    for numbers, program in programs.items()}
        for numbers, run in runs.items():
            found[numbers].append(run.result())
        print(f"{seed:4} ", *(f"{each[-1]:9.4f}" for each in found.values()), flush=True)
    for what, of in (("mean", statistics.mean), ("least", min), ("most", max)):
        print(f"{what:5}", *(f"{of(each):9.4f}" for each in found.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
