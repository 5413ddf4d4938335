#!/usr/bin/env -S python3 -B
"""Measures training steps of several processes: ranks.py [hashes] [pairs] [network] [gather] [simulated]
                                                    [scaling]

- `hashes` trains the README's network in 1, 2 and 4 processes, with cairn and with PyTorch's DistributedDataParallel,
  on the same batches, and prints hashes of the parameters.
- `pairs` compares two processes of one core each with two independent programs and with DistributedDataParallel. It
  also compares the fixed tree of sums with MPI_Iallreduce.
- `network` joins two network namespaces by a line of 1 Gb/s. It compares a step of two processes with the same step over
  shared memory, with independent programs, and with what the walk of `scaling` predicts. It needs root.
- `gather` compares steps with sharded_moments over the line of `network`. In one program, parameters travel during the
  next forward pass. In the other program, each step waits for them.
- `simulated` does the same as `network` with messages that SimGrid simulates. SimGrid runs both processes in turns, and
  takes the time of a processor for the time of a process, so that other programs on the machine disturb little. It also
  draws a step into build/bench/ranks/step.svg.
- `scaling` walks through the messages of a step to predict its time for up to 1,024 processes of three networks. It
  prints how far the walk is from SimGrid's two processes.

Without a name, all of them run. The contestants take turns. A figure is the least time of a step over all turns, and
the median is next to it. TURNS=N sets the number of turns. `./dev bench peers` installs PyTorch.
"""

import heapq
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
    scenario.compile_program(top / "bench/ranks.cpp", target, f"-DROWS={rows}", f"-DSHARDS={shards}",
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
    commands = [[scenario.python, top / "bench/ranks_torch.py", data(processes * rows), form, steps, rank, processes, rows]
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
    """The seconds of the steps of some contestants, without the first step of each turn. Each step has a time of the
    clock and a time of a processor."""

    def __init__(self):
        self.of = {}

    def note(self, who, lines):
        self.of.setdefault(who, []).extend([float(part) for part in line.split()] for line in lines[1:])

    def least(self, who, column=0):
        return min(step[column] for step in self.of[who])

    def median(self, who, column=0):
        return statistics.median(step[column] for step in self.of[who])

    def show(self, who, beside=None):
        for name, column in ("time", 0), ("time of a processor", 1):
            least, median = self.least(who, column), self.median(who, column)
            text = (f", {least / self.least(beside, column):.3f} and {median / self.median(beside, column):.3f} of"
                    f" {beside}" if beside else "")
            print(f"  {who}, {name}: least {1e3 * least:.1f} ms, median {1e3 * median:.1f} ms{text}", flush=True)


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


# Open MPI sends a longer message in pieces, and goes on only while a process is inside MPI. Half a bucket fits into the
# buffers of the system, which send it while the process computes.
whole_buckets = [word for name in ("eager_limit", "rndv_eager_limit", "max_send_size")
                 for word in ("--mca", f"btl_tcp_{name}", str(1 << 20))]


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
                      "oob_tcp_if_include", "10.91.7.0/24", *whole_buckets, "--host",
                      ",".join(f"{a}:1" for a in self.addresses), "-n", "2"]
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
            all_times, records = times(), []
            for _ in range(turns):
                for lines in pinned(rows, 2, steps):
                    all_times.note("independent", lines)
                records.append(json.loads(printed(mpirun(2, program(rows, 2), data(2 * rows), "record", steps))[0]))
                all_times.note("shared memory", printed(mpirun(2, program(rows, 2), data(2 * rows), "time", steps)))
                all_times.note("1 Gb/s", joined.run(program(rows, 2), data(2 * rows), "time", steps))
            predicted = walked(min(records, key=lambda record: record["end"]), 2, line, 20e-6)
            speed = rows * flops_of_row / all_times.least("independent", 1)
            print(f"{rows} rows of a process; F = {speed / 1e9:.1f} GFLOP/s and W = 125 MB/s, so that 1.33 F/W is"
                  f" {1.33 * speed / line:.0f} rows")
            all_times.show("independent")
            all_times.show("shared memory", "independent")
            for beside in "shared memory", "independent":
                all_times.show("1 Gb/s", beside)
            print(f"  predicted from a step over shared memory: {1e3 * predicted:.1f} ms,"
                  f" {predicted / all_times.least('1 Gb/s'):.3f} of the least time", flush=True)


def gather():
    with namespaces() as joined:
        for rows, steps in (128, 20), (512, 10), (1024, 6):
            all_times = times()
            for _ in range(turns):
                for form in "viewed", "parts":
                    all_times.note(form, joined.run(program(rows, 2), data(2 * rows), form, steps))
            print(f"{rows} rows of a process")
            all_times.show("viewed")
            all_times.show("parts", "viewed")


def simulated_lines(rows, speed, form, steps):
    """Returns what two processes print that SimGrid joins by a line of this speed."""
    target = folder / f"simulated-{rows}"
    source = top / "bench/ranks.cpp"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        printed(["smpicxx", *(flag for flag in scenario.flags if flag != "-fopenmp"), "-Wno-psabi", f"-DROWS={rows}",
                 "-DSHARDS=2", source, "-o", target, "-lz"])
    platform, hosts = folder / f"{speed}.xml", folder / "hosts"
    platform.write_text(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="host" suffix="" radical="0-1" speed="1Gf" bw="{speed}" lat="20us"/>
</platform>
""")
    hosts.write_text("host0\nhost1\n")
    return printed(["smpirun", "-np", "2", "-platform", platform, "-hostfile", hosts, "--cfg=smpi/host-speed:1Gf",
                    "--cfg=smpi/privatization:no", "--cfg=smpi/simulate-computation:yes", "--cfg=smpi/test:1e-6",
                    "--cfg=smpi/grow-injected-times:no", "--log=root.thres:critical", target, data(2 * rows), form,
                    steps])


def simulated():
    for rows in 128, 512, 1024, 2048:
        all_times = times()
        for _ in range(turns):
            for name, speed in ("fast line", "100GBps"), ("1 Gb/s", "125MBps"):
                all_times.note(name, simulated_lines(rows, speed, "time", 6))
        speed = rows * flops_of_row / all_times.least("fast line")
        print(f"{rows} rows of a process; F = {speed / 1e9:.0f} GFLOP/s, so that 1.33 F/W is {1.33 * speed / line:.0f} rows")
        for name in "fast line", "1 Gb/s":
            ratio = (f", {all_times.least(name) / all_times.least('fast line'):.3f} of the fast line"
                     if name == "1 Gb/s" else "")
            print(f"  {name}: least {1e3 * all_times.least(name):.1f} ms,"
                  f" median {1e3 * all_times.median(name):.1f} ms{ratio}", flush=True)
    draw([json.loads(text) for text in simulated_lines(1024, "125MBps", "record", 6)], folder / "step.svg")


def walked(record, processes, speed, latency, times_as_long=1.0):
    """Returns the seconds of a step, as a walk through the messages of one process predicts them. All processes are
    alike, and nothing disturbs them. A line carries one message at a time, in each direction. `record` is a step of two
    processes over a line that takes no time. Its buckets are ready `times_as_long` later."""
    buckets = [each for each in record["transfers"] if each[1] >= 32 << 10][::2]
    rounds, free, last = processes.bit_length() - 1, 0.0, 0.0
    waiting = [(start * times_as_long, number, 0, 2 * size) for number, (_, size, start, _) in enumerate(buckets)]
    heapq.heapify(waiting)
    while waiting:
        ready, number, stage, size = heapq.heappop(waiting)
        if stage == 2 * rounds:
            last = max(last, ready)
            continue
        turn = stage if stage < rounds else 2 * rounds - 1 - stage
        free = max(free, ready) + size / 2 ** (turn + 1) / speed
        heapq.heappush(waiting, (free + latency, number, stage + 1, size))
    arrived = max(each[3] for each in record["transfers"])
    return max(record["wait"] * times_as_long, last) + record["end"] - arrived


def scaling():
    networks = {"1 Gb/s": (125e6, 20e-6), "10 Gb/s": (1.25e9, 20e-6), "100 Gb/s": (12.5e9, 2e-6)}
    records = {rows: json.loads(simulated_lines(rows, "100GBps", "record", 6)[0]) for rows in (128, 1024)}
    for rows, record in records.items():
        for name, speed in ("125MBps", 125e6), ("1250MBps", 1.25e9):
            found = min(float(line.split()[0]) for line in simulated_lines(rows, name, "time", 6)[1:])
            own = walked(record, 2, speed, 20e-6)
            print(f"  two processes, {rows} rows, {name}: SimGrid {1e3 * found:.1f} ms, walk {1e3 * own:.1f} ms,"
                  f" {own / found:.3f}", flush=True)
    computing, alone = records[1024]["wait"], walked(records[1024], 1, 1e18, 0)  # without messages
    whole = 128 * 1024  # rows of the batch, for strong scaling
    for name, (speed, latency) in networks.items():
        for processes in 2, 16, 128, 1024:
            weak = alone / walked(records[1024], processes, speed, latency)
            rows = whole // processes
            # The computation of more rows takes longer in proportion. That of fewer was measured with 128 rows.
            record = records[1024 if rows >= 1024 else 128]
            of_record = 1024 if rows >= 1024 else 128
            step = walked(record, processes, speed, latency, rows / of_record)
            # One process would compute the whole batch, and update once.
            strong = (computing * rows / 1024 + (alone - computing) / processes) / step
            print(f"  {name}, {processes} processes: weak {weak:.2f} with 1,024 rows each; strong {strong:.2f} with"
                  f" {rows} rows each", flush=True)


def draw(ranks, file):
    """Draws the computation and the messages of a step as an SVG image, in the style of cairn/report/svg_plot.hpp."""
    ranks.sort(key=lambda rank: rank["rank"])
    end = max(rank["end"] for rank in ranks)
    left, right, lane = 112, 860, 9
    x = lambda seconds: left + (right - left) * seconds / end
    shapes, y = [], 84
    for rank in ranks:
        cut = [each for each in rank["transfers"] if each[1] >= 32 << 10]
        arrived = max(each[3] for each in rank["transfers"])
        shapes.append(f"<text x='104' y='{y + 15}' class='end'>process {rank['rank']}</text>")
        for begin, until, kind, what in ((0, rank["wait"], "work", "forward and backward pass"),
                                         (rank["wait"], arrived, "wait", "waits for messages"),
                                         (arrived, rank["end"], "update", "update of the parameters")):
            shapes.append(f"<rect x='{x(begin):.1f}' y='{y}' width='{x(until) - x(begin):.1f}' height='20' class='{kind}'>"
                          f"<title>{what}: {1e3 * (until - begin):.1f} ms</title></rect>")
        lanes = []  # when the last message of a row has arrived
        for index, size, begin, until in sorted(cut, key=lambda each: each[2]):
            row = next((i for i, free in enumerate(lanes) if free <= begin), len(lanes))
            lanes[row:row + 1] = [until]
            # The buckets follow each other, and each has one stage that sums and one that collects.
            kind = "collects" if (index - cut[0][0]) % 2 else "sums"
            shapes.append(f"<rect x='{x(begin):.1f}' y='{y + 26 + lane * row}' width='{max(1, x(until) - x(begin)):.1f}'"
                          f" height='{lane - 2}' class='{kind}'><title>{size >> 10} KiB, {1e3 * begin:.1f} to"
                          f" {1e3 * until:.1f} ms</title></rect>")
        shapes.append(f"<text x='104' y='{y + 34}' class='end small'>messages</text>")
        y += 40 + lane * len(lanes)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if 1e3 * end / step <= 10)
    ticks = [f"<line x1='{x(t / 1e3):.1f}' y1='76' x2='{x(t / 1e3):.1f}' y2='{y}' class='grid'/>"
             f"<text x='{x(t / 1e3):.1f}' y='{y + 18}' class='middle'>{t}{' ms' if t == 0 else ''}</text>"
             for t in range(0, int(1e3 * end) + 1, step)]
    keys = [("work", "forward and backward pass"), ("wait", "waits"), ("update", "update"),
            ("sums", "bucket is summed"), ("collects", "sums are collected")]
    at, legend = 24, []
    for kind, what in keys:
        legend.append(f"<rect x='{at}' y='47' width='16' height='13' class='{kind}'/>"
                      f"<text x='{at + 22}' y='58'>{what}</text>")
        at += 50 + 7 * len(what)
    file.write_text(f"""<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 930 {y + 30}' font-family='sans-serif' font-size='13'>
<style>
  .paper {{ fill: #ffffff }} text {{ fill: #24292f }} .small {{ font-size: 11px }}
  .title {{ font-size: 17px; font-weight: bold }} .middle {{ text-anchor: middle }} .end {{ text-anchor: end }}
  .grid {{ stroke: #e2e5e9 }} .work {{ fill: #aecdee }} .wait {{ fill: #d9730d }} .update {{ fill: #7a808a }}
  .sums {{ fill: #2878d0 }} .collects {{ fill: #1d5fa8; fill-opacity: 0.5 }}
</style>
<rect width='930' height='{y + 30}' class='paper'/>
<text x='24' y='30' class='title'>A training step of two processes, over a simulated line of 1 Gb/s</text>
""" + "\n".join([*legend, *ticks, *shapes]) + "\n</svg>\n")


def main(*names):
    folder.mkdir(parents=True, exist_ok=True)
    known = {"hashes": hashes, "pairs": pairs, "network": network, "gather": gather,
             "simulated": simulated, "scaling": scaling}
    for name in names or known:
        if name not in known:
            sys.exit(f"{name} is none of {' '.join(known)}")
        print(f"{name}:", flush=True)
        known[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
