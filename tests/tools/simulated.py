#!/usr/bin/env -S python3 -B
"""Trains in up to 1,024 processes that SimGrid simulates: simulated.py [PROCESSES...]

SimGrid runs all processes of an MPI program in one process, with messages on a simulated network. The program,
tests/ranks/many.cpp, is compiled from the same headers as for a real MPI. Its saved file must have the same bits for
any number of processes, and the same bits as a file of a program without MPI. Time is not checked.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import finish, top

flags = ["-std=c++20", "-O1", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Wno-psabi", "-Werror", "-Iinclude",
         "tests/ranks/many.cpp", "-lz"]
most = 1024
platform = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="host" suffix="" radical="0-{most - 1}" speed="1Gf" bw="125MBps" lat="20us"/>
</platform>
"""


def call(*command):
    done = subprocess.run([str(part) for part in command], cwd=top, text=True, errors="replace",
                          env=os.environ | {"LC_ALL": "C"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else f"ended with {done.returncode}: {done.stdout[:4000]}"


def saved(file, *command):
    """Returns the hash of the file that a program saves, or what it prints if it fails."""
    file.unlink(missing_ok=True)
    return call(*command) or hashlib.sha256(file.read_bytes()).hexdigest()


def main(*sizes):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Without MPI, the program is compiled with the headers of a real MPI, which it then does not call.
        mpi = subprocess.run(["pkg-config", "--cflags", "--libs", "ompi-c"], text=True, capture_output=True, check=True)
        printed = (call("g++", *flags, "-o", folder / "alone", *mpi.stdout.split())
                   or call("smpicxx", *flags, "-o", folder / "simulated"))
        if printed:
            sys.exit(printed)
        (folder / "platform.xml").write_text(platform)
        (folder / "hosts").write_text("".join(f"host{i}\n" for i in range(most)))
        file = folder / "saved.safetensors"
        wanted = saved(file, folder / "alone", file, "0")
        for size in map(int, sizes or (1, 2, 16, 64, most)):
            # The program has no global variables that processes change, so all of them can share one image. Polls take
            # simulated time, so that waits end.
            found = saved(file, "smpirun", "-np", size, "-platform", folder / "platform.xml", "-hostfile",
                          folder / "hosts", "--cfg=smpi/host-speed:1Gf", "--cfg=smpi/privatization:no",
                          "--cfg=smpi/simulate-computation:no", "--cfg=smpi/test:1e-5",
                          "--cfg=smpi/grow-injected-times:no", "--log=root.thres:critical", folder / "simulated", file,
                          size)
            wrong = "" if found == wanted and len(wanted) == 64 else f": {found}, without MPI {wanted}"
            print(f"{'FAIL' if wrong else 'ok  '} {size} simulated processes{wrong}", flush=True)
            passed += not wrong
            failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
