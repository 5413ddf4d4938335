#!/usr/bin/env -S python3 -B
"""Checks that training programs continue with the same bits: resume.py PROGRAM images|text

The data are a small set of made-up images or a short text. A run is interrupted, and resumed by the command line that
it prints. It must end with the same files and the same log as a run that never stopped, and must write the same text.
"""

import csv
import gzip
import os
import random
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compilers import finish

# training steps of an epoch, with batches of 128 images; the program writes a row of its log after each 20 steps
steps = 60
sizes = {"train": steps * 128, "t10k": 200}


def write_images(folder):
    """Writes files like those of Fashion-MNIST. The images are noise around a brightness that depends on the class."""
    folder.mkdir()
    draw = random.Random(1)
    noise = draw.randbytes(28 * 28 * 64)
    for name, count in sizes.items():
        labels = bytes(draw.randrange(10) for _ in range(count))
        images = bytearray()
        for label in labels:
            start = draw.randrange(len(noise) - 28 * 28)
            images += noise[start:start + 28 * 28 - 28 * label] + bytes(28 * label)
        for kind, extents, data in ("images-idx3", (count, 28, 28), images), ("labels-idx1", (count,), labels):
            head = struct.pack(f">{1 + len(extents)}I", 0x800 + len(extents), *extents)
            (folder / f"{name}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + data, 1))


def write_text(file):
    """Writes a text of few letters. It is long enough for two epochs of an LSTM with 32 letters in each training step,
    and for a tenth of the text as validation."""
    draw = random.Random(1)
    letters = "abcdefgh \n"
    file.write_text("".join(draw.choice(letters) for _ in range((2 * steps * 32 + 1) * 10 // 9 + 1)))


def start(command):
    return subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def ended(process):
    """Returns what a process printed. A process that does not end in time is killed."""
    try:
        printed = process.communicate(timeout=240)[0]
    finally:
        process.kill()
    if process.returncode != 0:
        raise RuntimeError(f"ended with {process.returncode}: {printed}")
    return printed


def saved_all(process):
    """Returns what a process printed until everything was saved. The profile that the process computes afterwards would
    take longer than everything else, because the program is not optimized."""
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("its log: "):
            break
    else:
        raise RuntimeError(f"ended with {process.wait()}: {printed}")
    process.kill()
    process.communicate()
    return printed


def written(printed):
    """Returns the text that a model wrote at the end, if it writes text."""
    return printed.rpartition(" it writes\n")[2].partition("the best weights: ")[0]


def interrupt(process, log):
    """Interrupts a process as soon as its log has a row below the titles."""
    while process.poll() is None and not (log.exists() and log.read_text().count("\n") > 1):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)


def written_on(program, run, *arguments):
    """Returns what a model writes after a prompt, with the best weights of a run."""
    return ended(start([program, "--run", str(run), "--prompt", "abc de", *arguments]))


def saved(run):
    """Returns the contents of all files with weights that a run saved, by their names."""
    return {file.name: file.read_bytes() for file in run.glob("*.safetensors")}


def rows(run):
    """Returns the rows of the log, without the seconds."""
    with open(run / "log.csv", newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def checks(program, kind, folder):
    """Yields what is checked, and whether it holds."""
    data, whole, parted = folder / "data set", folder / "whole", folder / "parted"
    write, to_end = {"images": (write_images, ended), "text": (write_text, saved_all)}[kind]
    write(data)

    def command(run):
        return [program, "--data", str(data), "--epochs", "2", "--lr", "0.0003", "--seed", "7",
                "--threads", "1", "--run", str(run)]

    wrote = written(to_end(start(command(whole))))
    process = start(command(parted))
    interrupt(process, parted / "log.csv")
    hint = ended(process).splitlines()[-1].partition("this goes on: ")[2]
    yield "an interrupted run says how it goes on", hint.endswith(" --resume")
    yield "it was saved within the first epoch", f"step-{20:010}" <= min(saved(parted)) < f"step-{steps:010}"
    printed = to_end(start(shlex.split(hint)))
    yield "it goes on from there", "goes on after" in printed
    yield "its log is that of a whole run", rows(parted) == rows(whole)
    yield "its last weights, and the best, have the same bytes", saved(parted) == saved(whole)
    if kind == "text":
        yield "it writes the same text", written(printed) == wrote != ""
        here = written_on(program, parted)
        yield "it writes on from a prompt", here.startswith("abc de") and len(here.encode()) > len("abc de\n")
        yield "the same by the same weights", here == written_on(program, whole)
        yield "another text by another seed", here != written_on(program, parted, "--seed", "8")
        next(parted.glob("best*")).unlink()
        without = subprocess.run([program, "--run", str(parted), "--prompt", "a"], capture_output=True, text=True)
        yield "and nothing without weights", without.returncode == 1 and not without.stdout
    else:
        unsaved = ended(start([program, "--data", str(data), "--epochs", "1"]))
        yield "without a folder it trains, too", "epoch 1/1" in unsaved


def main(program, kind):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, holds in checks(os.path.abspath(program), kind, Path(folder)):
            print("ok  " if holds else "FAIL", what, flush=True)
            passed += holds
            failed += not holds
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
