#!/usr/bin/env -S python3 -B
"""Checks what the demo must refuse: refusals.py PROGRAM

Wrong arguments and wrong files must end the demo at once, with one line on stderr, nothing on stdout, and an exit
status that reports a failure. If the demo accepted one of them by mistake, it would train for minutes. Therefore each
case has a time limit.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import finish

source = Path("/usr/share/datasets/fashion-mnist")
test_images = "t10k-images-idx3-ubyte.gz"
arguments = """--nonsense|a b|--epochs|--epochs 0|--epochs 1.5|--epochs x|--epochs 99999999999|--epochs 3 --epochs 4
--seed -1|--seed 18446744073709551616|--seed 1x|--lr nan|--lr inf|--lr 0|--lr -1|--lr 1e999|--data
--threads|--threads 0|--threads -1|--threads 1.5|--threads x|--threads 100000""".split("\n")


def cases(folder: Path):
    """Yields arguments, and the word that the line on stderr must name."""
    for words in "|".join(arguments).split("|"):
        yield words.split(), words.split()[0]
    yield ["--data", str(folder / "none")], "none"
    damaged = folder / "damaged"
    damaged.mkdir()
    for file in source.iterdir():
        (damaged / file.name).symlink_to(file)
    (damaged / test_images).unlink()
    yield ["--data", str(damaged)], test_images
    (damaged / test_images).write_bytes((source / test_images).read_bytes()[:1000])
    yield ["--data", str(damaged)], test_images


def fault(program, given, named):
    try:
        done = subprocess.run([program, *given], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "accepted"
    if done.returncode <= 0:
        return f"ended with {done.returncode}"
    if done.stdout or done.stderr.count("\n") != 1 or not done.stderr.endswith("\n"):
        return f"not one line on stderr alone: {done.stdout}{done.stderr}"
    return "" if named in done.stderr else f"does not name {named}: {done.stderr}"


def main(program):
    count = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for given, named in cases(Path(folder)):
            wrong = fault(program, given, named)
            print("FAIL" if wrong else "ok  ", *given, wrong, flush=True)
            count += 1
            failed += bool(wrong)
    finish(count - failed, failed)


if __name__ == "__main__":
    main(sys.argv[1])
