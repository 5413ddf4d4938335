#!/usr/bin/env -S python3 -B
"""Measures training steps of several processes: ranks.py [hashes] [pairs] [network] [picture]

- `hashes` trains the README's network in 1, 2 and 4 processes, with cairn and with PyTorch's DistributedDataParallel,
  on the same batches, and prints hashes of the parameters.
- `pairs` compares two processes of one core each with two independent programs and with DistributedDataParallel. It
  also compares the fixed tree of sums with MPI_Iallreduce.
- `network` joins two network namespaces by a line of 1 Gb/s, and compares a step of two processes with its computation.
  It needs root.
- `picture` draws such a step into build/bench/ranks/step.svg.

Without a name, all of them run. The contestants take turns. A figure is the least time of a step over all turns, and
the median is next to it. TURNS=N sets the number of turns. `./dev bench peers` installs PyTorch.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import scenario

top, folder = scenario.top, scenario.build / "ranks"
turns = int(os.environ.get("TURNS", 5))
readme = scenario.import_file(top / "bench/scenario/readme/tensors.py")
flops_of_row = 4 * 2 * (784 * 256 + 8 * 2 * 256 * 1024 + 256 * 10)  # forward, recomputation, and backward twice
line = 1e9 / 8  # bytes a second of the namespaces' line
settings = {"OMP_WAIT_POLICY": "passive", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
environment = os.environ | settings


def data(rows):
    """Returns a folder with the parameters and with a batch."""
    module = types.SimpleNamespace(tensors={**readme.tensors, "images": (1, rows, 784)},
                                   labels={"classes": (10, rows)})
    scenario.write_tensors(module, folder / str(rows))
    return folder / str(rows)


def program(rows, shards):
    """Compiles the program for this number of rows of a shard, and returns its path."""
    target = folder / f"cairn-{rows}-{shards}"
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "ompi-c"], text=True, capture_output=True, check=True)
    scenario.compile_program(top / "bench/ranks/cairn.cpp", target, f"-DROWS={rows}", f"-DSHARDS={shards}",
                             *found.stdout.split(), "-lz")
    return target


def printed(command, more={}):
    """Returns the lines that a program prints."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, env=environment | more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def together(commands, more=[{}, {}]):
    """Runs commands at the same time. Returns the lines that each of them prints."""
    running = [subprocess.Popen([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment | own) for command, own in zip(commands, more)]
    out = [process.communicate() for process in running]
    for process, (_, errors), command in zip(running, out, commands):
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{errors}")
    return [lines.splitlines() for lines, _ in out]


def mpirun(processes, *words):
    return ["mpirun.openmpi", "-n", processes, "--bind-to", "core" if processes <= os.cpu_count() else "none", *words]


def ddp(processes, rows, form, steps):
    """Returns what the first process of DistributedDataParallel prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    commands = [[scenario.python, top / "bench/ranks/ddp.py", data(processes * rows), form, steps, rank, processes, rows]
                for rank in range(processes)]
    return together(commands, [address] * processes)[0]


def pinned(rows, shards, steps):
    """Returns the times of independent programs, one on each core."""
    return together([["taskset", "-c", core, program(rows, shards), data(rows * shards), "alone", steps]
                     for core in range(shards)])


def hashes():
    rows, steps = 128, 10
    for processes in 1, 2, 4:
        own = printed(mpirun(processes, program(rows // 4, 4), data(rows), "hash", steps))[0].split()
        peer = ddp(processes, rows // processes, "hash", steps)[0].split()
        print(f"  {processes} processes: cairn {own[0]}, loss {own[1]}; DistributedDataParallel {peer[0]}, loss {peer[1]}",
              flush=True)


class times:
    """The seconds of the steps of some contestants, without the first step of each turn."""

    def __init__(self):
        self.of = {}

    def note(self, who, lines):
        self.of.setdefault(who, []).extend(float(line) for line in lines[1:])

    def show(self, who, beside=None):
        own = self.of[who]
        ratios = [f(own) / f(self.of[beside]) for f in (min, statistics.median)] if beside else []
        text = f", {ratios[0]:.3f} and {ratios[1]:.3f} of {beside}" if beside else ""
        print(f"  {who}: least {1e3 * min(own):.1f} ms, median {1e3 * statistics.median(own):.1f} ms{text}", flush=True)


def pairs():
    for rows, steps in (1024, 6), (128, 30):
        all_times = times()
        for _ in range(turns):
            for lines in pinned(rows, 2, steps):
                all_times.note("independent", lines)
            all_times.note("cairn", printed(mpirun(2, program(rows, 2), data(2 * rows), "time", steps)))
            all_times.note("ddp", ddp(2, rows, "time", steps))
        print(f"{rows} rows of a process, two processes of one core")
        all_times.show("independent")
        for who in "cairn", "ddp":
            all_times.show(who, "independent")
    lines = [line.split() for _ in range(turns)
             for line in printed(mpirun(2, program(1024, 2), data(2048), "reduce", 10))[1:]]
    for who, column in ("fixed tree", 0), ("MPI_Iallreduce", 1):
        own = [1e3 * float(line[column]) for line in lines]
        print(f"  16 buckets of 1 MiB, {who}: least {min(own):.2f} ms, median {statistics.median(own):.2f} ms")


class namespaces:
    """Two network namespaces that are joined by a line. `line` is in bytes a second, and `delay` in microseconds."""

    names = "cairn0", "cairn1"
    addresses = "10.91.7.1", "10.91.7.2"

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        ip = ["ip", "link", "add", "cairn0", "type", "veth", "peer", "name", "cairn1"]
        for command in *(["ip", "netns", "add", name] for name in self.names), ip:
            printed(command)
        for name, address in zip(self.names, self.addresses):
            printed(["ip", "link", "set", name, "netns", name])
            inside = ["ip", "netns", "exec", name]
            printed([*inside, "ip", "addr", "add", f"{address}/24", "dev", name])
            for device in "lo", name:
                printed([*inside, "ip", "link", "set", device, "up"])
            printed([*inside, "tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", "1gbit", "burst", "128kb",
                     "latency", "50ms"])
        # mpirun starts its helper on the other host by this script. Each host has a name and a folder of its own.
        agent = Path(self.folder.name, "agent")
        agent.write_text("#!/bin/sh\nhost=$1\nshift\ncase $host in\n" + "".join(
            f"{address}) name={name} ;;\n" for name, address in zip(self.names, self.addresses)) + f"""esac
mkdir -p {self.folder.name}/$name
export TMPDIR={self.folder.name}/$name
exec ip netns exec $name unshare -u sh -c "hostname $name; $*"
""")
        # The two processes share this machine. Each has a core of its own.
        self.on_own_core = Path(self.folder.name, "on_own_core")
        self.on_own_core.write_text('#!/bin/sh\nexec taskset -c $OMPI_COMM_WORLD_RANK "$@"\n')
        for script in agent, self.on_own_core:
            script.chmod(0o755)
        self.start = [agent, self.addresses[0], "mpirun.openmpi", "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1",
                      "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "10.91.7.0/24", "--mca",
                      "oob_tcp_if_include", "10.91.7.0/24", "--host", ",".join(f"{a}:1" for a in self.addresses), "-n",
                      "2"]
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        self.folder.cleanup()

    def run(self, *words):
        return printed([*self.start, self.on_own_core, *words])


def network():
    with namespaces() as joined:
        for rows, steps in (128, 20), (512, 6), (1024, 4), (2048, 3):
            all_times = times()
            for _ in range(turns):
                for lines in pinned(rows, 2, steps):
                    all_times.note("computation", lines)
                all_times.note("1 Gb/s", joined.run(program(rows, 2), data(2 * rows), "time", steps))
            speed = rows * flops_of_row / min(all_times.of["computation"])
            print(f"{rows} rows of a process; F = {speed / 1e9:.1f} GFLOP/s and W = 125 MB/s, so that 1.33 F/W is"
                  f" {1.33 * speed / line:.0f} rows")
            all_times.show("computation")
            all_times.show("1 Gb/s", "computation")


def main(*names):
    known = {"hashes": hashes, "pairs": pairs, "network": network}
    for name in names or known:
        if name not in known:
            sys.exit(f"{name} is none of {' '.join(known)}")
        print(f"{name}:", flush=True)
        known[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
