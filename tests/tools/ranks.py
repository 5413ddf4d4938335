#!/usr/bin/env -S python3 -B
"""Trains in several processes of MPI: ranks.py [PART OF A NAME]

A run must save the same file for any number of processes and threads, with Open MPI and MPICH, over shared memory and
TCP. It must also do so if another number of processes goes on with it, or if each process keeps a part of the moments.
A process that is killed, that throws, that waits for ever, or that runs another program must end all processes, within
seconds. tests/ranks/train.cpp is the run.

A training loop must leave the same folder for any number of processes. A request to stop in one process must end all
processes after the same training step. tests/ranks/loop.cpp is this run. In addition, the program of docs/processes.md
must compile.
"""

import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compilers import finish, for_each, top
from readme import blocks

flags = ["-std=c++20", "-O1", "-march=native", "-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Wno-psabi", "-Werror",
         "-Iinclude"]
programs = ["train", "loop"]
packages = {"open": "ompi-c", "mpich": "mpich"}
starters = {"open": "mpirun.openmpi", "mpich": "mpiexec.mpich"}
# Open MPI refuses to run as root, and to start more processes than there are cores, unless it is told otherwise. It
# copies from process to process by a system call that containers forbid.
settings = {"OMP_WAIT_POLICY": "passive", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
transports = {
    ("open", "memory"): {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"},
    ("open", "tcp"): {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
    ("mpich", "memory"): {"UCX_TLS": "self,sysv,posix"},
    ("mpich", "tcp"): {"UCX_TLS": "self,tcp"},
}


class runs:
    """The programs in a folder, and how they are started."""

    def __init__(self, folder):
        self.folder = folder

    def compile(self, library):
        options = [subprocess.run(["pkg-config", kind, packages[library]], text=True, capture_output=True,
                                  check=True).stdout.split() for kind in ("--cflags", "--libs")]
        page = "".join(blocks((top / "docs/processes.md").read_text(), "cpp"))
        printed = ""
        benchmark = ["-DROWS=128", "-DSHARDS=2", "-Ibench", "bench/ranks.cpp"]  # no other test compiles it
        sources = [[["-fsyntax-only", "-x", "c++", "-"], page], [["-fsyntax-only", *benchmark], None]]
        sources += [[[f"tests/ranks/{program}.cpp", "-o", self.path(library, program)], None] for program in programs]
        for source, text in sources:
            done = subprocess.run(["g++", *flags, *options[0], *source, *options[1], "-lz"],
                                  cwd=top, input=text, text=True, capture_output=True)
            printed += done.stdout + done.stderr
        return printed

    def path(self, library, program):
        return self.folder / f"{library}-{program}"

    def start(self, library, processes, *words, program="train", threads=1, transport="memory", starter=None,
              variables={}):
        command = [starters[starter or library], "-n", str(processes)] if processes else []
        words = [str(word) for word in words]
        return subprocess.Popen(
            [*command, self.path(library, program), *words], text=True, errors="replace",
            env=os.environ | settings | transports[library, transport] | {"OMP_NUM_THREADS": str(threads)} | variables,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def hash(self, *arguments, **options):
        """Returns the hash of the file that a run saves, or what the run prints if it fails."""
        library, file = arguments[0], arguments[3]
        file.unlink(missing_ok=True)
        process, printed = self.start(*arguments, **options), ""
        for line in process.stdout:
            printed += line
            if line == "saved\n":
                break
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            # Over TCP, processes of MPICH 4.0 may wait for each other in MPI_Finalize (pmodels/mpich#6596).
            if library != "mpich" or not printed.endswith("saved\n"):
                return f"does not end: {printed}"
        else:
            if process.returncode != 0:
                return f"ended with {process.returncode}: {printed}"
        return hashlib.sha256(file.read_bytes()).hexdigest()

    def processes(self, library):
        """Returns the processes that run a program."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "exe") in [str(self.path(library, program)) for program in programs]:
                    found.append(int(entry.name))
            except OSError:
                pass  # the process has ended
        return sorted(found)

    def ended(self, process, library):
        """Returns how many seconds a run takes to end, with all its processes, and what it prints."""
        begin = time.monotonic()
        try:
            printed = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            printed = process.communicate()[0] + "\nstill runs\n"
        while self.processes(library) and time.monotonic() - begin < 60:
            time.sleep(0.05)
        return time.monotonic() - begin, printed


def same_bits(run, folder):
    """Yields what is checked, and what is wrong or an empty text."""
    for model in "float", "bf16":
        file = folder / "saved"
        wanted = run.hash("open", 0, model, file, "alone", 1)
        half = folder / "half"
        yield f"{model}: alone", "" if len(wanted) == 64 else wanted
        for library, transport in transports:
            for processes in 1, 2, 4, 8:
                for threads in 1, 2:
                    found = run.hash(library, processes, model, file, threads=threads, transport=transport)
                    yield (f"{model}: {processes} processes of {threads} threads, {library}, {transport}",
                           "" if found == wanted else f"{found}, alone {wanted}")
        parts = ["moments", "parts"]
        for library, transport in transports:
            for processes in 2, 4, 8:
                found = run.hash(library, processes, model, file, *parts, threads=2, transport=transport)
                yield (f"{model}: {processes} processes with parts of the moments, {library}, {transport}",
                       "" if found == wanted else f"{found}, alone {wanted}")
        run.hash("open", 4, model, half, "steps", 3)
        found = run.hash("mpich", 2, model, file, "from", half)
        yield f"{model}: saved by 4 processes, resumed by 2", "" if found == wanted else f"{found}, alone {wanted}"
        found = run.hash("open", 8, model, file, "from", half, *parts)
        yield (f"{model}: saved by 4 processes, resumed by 8 with parts of the moments",
               "" if found == wanted else f"{found}, alone {wanted}")
        run.hash("open", 2, model, half, "steps", 3, *parts)
        found = run.hash("open", 4, model, file, "from", half, *parts)
        yield (f"{model}: saved by 2 processes, resumed by 4, with parts of the moments",
               "" if found == wanted else f"{found}, alone {wanted}")
        found = run.hash("open", 0, model, file, "alone", 1, "from", half)
        yield f"{model}: saved by 4 processes, resumed by 1", "" if found == wanted else f"{found}, alone {wanted}"
    # A process for each shard is the only way to train this model, so all runs have the same number of processes.
    model = "synchronized"
    wanted = run.hash("open", 8, model, file)
    yield f"{model}: 8 processes", "" if len(wanted) == 64 else wanted
    for library, transport in transports:
        for words, threads in ([], 1), ([], 2), (parts, 2):
            found = run.hash(library, 8, model, file, *words, threads=threads, transport=transport)
            yield (f"{model}: 8 processes of {threads} threads{' with parts of the moments' if words else ''}, {library}, "
                   f"{transport}", "" if found == wanted else f"{found}, before {wanted}")
    run.hash("mpich", 8, model, half, "steps", 3)
    found = run.hash("open", 8, model, file, "from", half)
    yield f"{model}: saved and resumed", "" if found == wanted else f"{found}, before {wanted}"


def faults(run, folder):
    """Yields what is checked, and what is wrong or an empty text."""
    file = folder / "saved"
    # words of the run, how many seconds it may take, and what it says
    cases = {
        "a process that throws in a step": (4, ["fault", "throw"], 20, "cairn: rank 3 of 4: a file is damaged"),
        "a process that throws outside of a step": (
            4, ["fault", "throw-outside"], 20, "cairn: rank 3 of 4: an exception left the scope of mpi::ranks"),
        "a process that sleeps": (2, ["fault", "sleep", "patience", 2], 30,
                                  "cairn: rank 0 has waited 2 s for rank 1 in step 3, "),
        "one of four that sleeps": (4, ["fault", "sleep", "patience", 2], 30, "; rank 3 is late"),
        "a process that writes alone": (4, ["fault", "set"], 20, " differ in 'bn.running_mean'"),
        "no patience": (1, ["patience", 0], 20, "cairn: mpi::ranks_options.patience: expected a number above 0, got 0"),
        "MPI for programs without threads": (2, ["begin", "single"], 20, "cairn: MPI was initialized for programs"),
        "a thread that may not call MPI": (2, ["begin", "thread"], 20, "cairn: mpi::ranks is made by a thread"),
        "a process of another program": (2, ["fault", "model"], 20, "differ in their models, their options"),
        "three processes": (3, [], 20, "expected 1, 2, 4 or 8, got 3"),
        "a loss that is not a number": (4, ["fault", "nan"], 20, "cairn: the loss is nan, expected a finite number"),
    }
    for library in starters:
        printed = run.ended(run.start(library, 4, "synchronized", file), library)[1]
        says = "shards<8>, with synchronized batch norms: expected 1 or 8, got 4"
        yield f"{library}: fewer processes than shards", "" if says in printed else f"does not say {says!r}: {printed}"
        for what, (processes, words, limit, says) in cases.items():
            seconds, printed = run.ended(run.start(library, processes, "float", file, *words), library)
            wrong = "" if says in printed else f"does not say {says!r}: {printed}"
            yield f"{library}: {what}", wrong if seconds < limit else f"took {seconds:.1f} s: {printed}"
        # Processes that MPI does not join must not train alone.
        other = "mpich" if library == "open" else "open"
        slurm = {"SLURM_STEP_NUM_TASKS": "4"}
        for what, processes, options, says in [
                ("the starter of another MPI", 2, {"starter": other}, "2 processes were started ("),
                ("srun without PMIx", 0, {"variables": slurm}, "4 processes were started (SLURM_STEP_NUM_TASKS)"),
                ("a starter in a step of Slurm", 1, {"variables": slurm}, "saved"),
                ("a shell of Slurm", 0, {"variables": {"SLURM_NTASKS": "4"}}, "saved")]:
            printed = run.ended(run.start(library, processes, "float", file, **options), library)[1]
            yield f"{library}: {what}", "" if says in printed else f"does not say {says!r}: {printed}"
        process = run.start(library, 4, "float", file, "steps", 100000)
        for line in process.stdout:
            if line.startswith("step 3:"):
                break
        os.kill(run.processes(library)[1], signal.SIGKILL)
        seconds, printed = run.ended(process, library)
        yield (f"{library}: a process that is killed ends all after {seconds:.1f} s",
               "" if seconds < 5 and process.returncode != 0 else f"took {seconds:.1f} s: {printed}")


def files_of(folder):
    """Returns the hashes of the files of a run, by name. The seconds in the log are left out."""
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    rows = files["log.csv"].splitlines()
    files["log.csv"] = b"\n".join(row[:row.rindex(b",")] for row in rows)
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}


def ends_of(printed):
    """Returns how the processes ended, without their ranks: one line if they ended alike."""
    return sorted({line.partition(": ")[2] for line in printed.splitlines() if " after step " in line})


def loops(run, folder):
    """Yields what is checked, and what is wrong or an empty text."""
    def ended(library, processes, name, *words):
        return run.ended(run.start(library, processes, folder / name, *words, program="loop"), library)

    def until(process, line):
        """Returns the numbers of the processes, after the run has printed a line."""
        numbers = {}
        for printed in process.stdout:
            if ": process " in printed:
                rank, number = printed.removeprefix("rank ").split(": process ")
                numbers[int(rank)] = int(number)
            if printed == line:
                return numbers
        return numbers

    printed = ended("open", 0, "alone", "alone", 1)[1]
    yield "loop: alone", "" if ends_of(printed) == ["done after step 60"] else printed
    wanted = files_of(folder / "alone")
    for library in starters:
        for processes in 1, 2, 4, 8:
            name = f"{library}-{processes}"
            printed = ended(library, processes, name)[1]
            right = ends_of(printed) == ["done after step 60"] and files_of(folder / name) == wanted
            right = right and printed.count("epoch ") == 3 and printed.count("slowest") == (3 if processes > 1 else 0)
            yield f"{library}: loop of {processes} processes", "" if right else printed

        # whom a signal is sent to, or None for mpirun, which passes it on
        for what, target in {"one process": 3, "mpirun": None}.items():
            name = f"{library}-asked-{target}"
            process = run.start(library, 4, folder / name, "pause", 20, program="loop")
            numbers = until(process, "step 5\n")
            os.kill(process.pid if target is None else numbers[target], signal.SIGUSR1)
            printed = run.ended(process, library)[1]
            ends = ends_of(printed)
            files = sorted(file.name for file in (folder / name).iterdir())
            asked = len(ends) == 1 and re.fullmatch(r"asked to stop after step (\d+)", ends[0])
            right = asked and int(asked[1]) < 20 and files == ["log.csv", f"step-{int(asked[1]):010}.safetensors"]
            yield f"{library}: SIGUSR1 to {what} ends all after the same step", "" if right else f"{files} {printed}"
            ended(library, 2, name)
            right = files_of(folder / name) == wanted
            yield f"{library}: 2 processes go on", "" if right else str(files_of(folder / name))

        process = run.start(library, 2, folder / f"{library}-wait", "fault", "wait", program="loop")
        numbers = until(process, "step 3\n")
        time.sleep(0.5)
        os.kill(numbers[0], signal.SIGTERM)
        seconds, printed = run.ended(process, library)
        says = "cairn: rank 0 got SIGTERM while it waited for rank 1 in step 4, "
        yield f"{library}: SIGTERM in a wait", "" if says in printed and seconds < 10 else f"{seconds:.1f} s: {printed}"

        process = run.start(library, 2, folder / f"{library}-busy", "fault", "busy", program="loop")
        numbers = until(process, "step 3\n")
        time.sleep(0.3)
        os.kill(numbers[0], signal.SIGTERM)
        printed = run.ended(process, library)[1]
        yield f"{library}: SIGTERM in no wait", "" if ends_of(printed) == ["asked to stop after step 4"] else printed

        owner = run.start(library, 2, folder / f"{library}-owned", "pause", 100, program="loop")
        until(owner, "step 3\n")
        other = run.start(library, 4, folder / f"{library}-owned", program="loop")
        printed = other.communicate(timeout=60)[0]
        right = printed.count("expected a folder without an owner") == 4
        yield f"{library}: a folder of another run", "" if right else printed
        owner.terminate()
        run.ended(owner, library)

        printed = ended(library, 4, f"{library}-log", "fault", "log")[1]
        right = printed.count("expected a file to append to") == 4
        yield f"{library}: a log that cannot be written", "" if right else printed


def main(part=""):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = runs(folder)
        for printed in for_each(run.compile, packages):
            if printed:
                sys.exit(printed)
        for checks in same_bits, faults, loops:
            if part not in checks.__name__:
                continue
            for what, wrong in checks(run, folder):
                print(f"FAIL {what}: {wrong}" if wrong else f"ok   {what}", flush=True)
                passed += not wrong
                failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
