#!/usr/bin/env -S python3 -B
"""Trains in several processes of MPI: ranks.py [PART OF A NAME]

A run must save the same file for any number of processes and threads, with Open MPI and MPICH, over shared memory and
TCP. It must also do so if another number of processes goes on with it, or if each process keeps a part of the moments.
A process that is killed, that throws, that waits for ever, or that runs another program must end all processes, within
seconds. tests/ranks/train.cpp is the run. In addition, the program of docs/processes.md must compile.
"""

import hashlib
import os
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
        for source, text in [["-fsyntax-only", "-x", "c++", "-"], page], [["tests/ranks/train.cpp"], None]:
            done = subprocess.run(["g++", *flags, *options[0], *source, "-o", self.folder / library, *options[1], "-lz"],
                                  cwd=top, input=text, text=True, capture_output=True)
            printed += done.stdout + done.stderr
        return printed

    def start(self, library, processes, model, file, *words, threads=1, transport="memory", starter=None,
              variables={}):
        command = [starters[starter or library], "-n", str(processes)] if processes else []
        words = [str(word) for word in words]
        return subprocess.Popen(
            [*command, self.folder / library, model, str(file), *words], text=True, errors="replace",
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
                if os.readlink(entry / "exe") == str(self.folder / library):
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


def main(part=""):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = runs(folder)
        for printed in for_each(run.compile, packages):
            if printed:
                sys.exit(printed)
        for checks in same_bits, faults:
            if part not in checks.__name__:
                continue
            for what, wrong in checks(run, folder):
                print(f"FAIL {what}: {wrong}" if wrong else f"ok   {what}", flush=True)
                passed += not wrong
                failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
