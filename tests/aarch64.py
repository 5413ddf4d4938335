#!/usr/bin/env -S python3 -B
"""Programs for devices print on an AArch64 processor, which QEMU emulates, what they print on this one with registers
of the same width."""

import subprocess
import tempfile
from pathlib import Path

from compilers import finish, for_each, top

programs = ["examples/embedded.cpp", "tests/install/embedded.cpp"]
flags = ["-std=c++20", "-O2", "-fno-exceptions", "-fno-rtti", "-static", f"-I{top}/include"]
libraries = ["boost", "xsimd"]  # headers alone; the others of /usr/include are this processor's


def printed(program, *command):
    """What it prints where the compiler makes it; else what is wrong."""
    done = subprocess.run([*command[1:], *flags, top / program, "-o", command[0]], text=True, capture_output=True)
    if done.returncode == 0:
        run = ["qemu-aarch64"] if "aarch64" in command[1] else []
        done = subprocess.run([*run, command[0]], text=True, capture_output=True)
    return done.returncode == 0, done.stdout + done.stderr


def judge(program):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for library in libraries:
            (folder / library).symlink_to(f"/usr/include/{library}")
        here = printed(program, folder / "here", "g++", "-march=x86-64")
        there = printed(program, folder / "there", "aarch64-linux-gnu-g++", "-isystem", name)
    return here[0] and there == here, here[1], there[1]


def main():
    failed = 0
    for program, (equal, here, there) in zip(programs, for_each(judge, programs)):
        print("ok  " if equal else f"FAIL here:\n{here}there:\n{there}", program, flush=True)
        failed += not equal
    finish(len(programs) - failed, failed)


if __name__ == "__main__":
    main()
