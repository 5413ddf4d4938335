#!/usr/bin/env -S python3 -B
"""Tests on an AArch64 processor, which QEMU emulates. Programs for devices must print there what they print here with
registers of the same width. The tests of kernels for bf16 and of modes of the processor must pass there."""

import subprocess
import tempfile
from pathlib import Path

from compilers import finish, for_each, top

programs = ["examples/embedded.cpp", "tests/install/embedded.cpp"]
suites = ["tests/run/kernel_elementwise.cpp", "tests/run/kernel_halves.cpp",
          "tests/run/kernel_convolution_halves.cpp", "tests/run/threads.cpp"]
flags = ["-std=c++20", "-O2", "-static", f"-I{top}/include"]
for_devices = ["-fno-exceptions", "-fno-rtti"]
there = "aarch64-linux-gnu-g++"
runner = "#define BOOST_TEST_MODULE cairn\n#include <boost/test/included/unit_test.hpp>\n"
libraries = ["boost", "xsimd"]  # these are headers only; the other libraries in /usr/include are for this processor


def printed(made, compiler, *command):
    """Compiles and runs a program. Returns whether both succeed, and what the program or the compiler prints."""
    done = subprocess.run([compiler, *flags, *command, "-o", made], text=True, capture_output=True)
    if done.returncode == 0:
        run = ["qemu-aarch64"] if compiler == there else []
        done = subprocess.run([*run, made], text=True, capture_output=True)
    return done.returncode == 0, done.stdout + done.stderr


def judge(source):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for library in libraries:
            (folder / library).symlink_to(f"/usr/include/{library}")
        if source in suites:
            main = folder / "main.cpp"
            main.write_text(runner)
            return printed(folder / "there", there, f"-I{top}/tests", "-isystem", name, top / source, main)
        of_there = printed(folder / "there", there, *for_devices, "-isystem", name, top / source)
        of_here = printed(folder / "here", "g++", *for_devices, "-march=x86-64", top / source)
    return of_here[0] and of_there == of_here, f"here:\n{of_here[1]}there:\n{of_there[1]}"


def main():
    sources, failed = programs + suites, 0
    for source, (well, text) in zip(sources, for_each(judge, sources)):
        print("ok  " if well else f"FAIL {text}", source, flush=True)
        failed += not well
    finish(len(sources) - failed, failed)


if __name__ == "__main__":
    main()
