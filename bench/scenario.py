#!/usr/bin/env -S python3 -B
"""Runs cairn and its peers side by side: scenario.py [name...]

A scenario is a folder of bench/scenario/. A folder with `tensors.py` is a contest. The programs cairn.cpp,
peer_torch.py and peer_jax.py read the same tensors, make the same training steps, and must report the same losses. A
peer may also be a C++ program, such as peer_adolc.cpp. A folder without `tensors.py` has a program blas.cpp, which
prints its rows itself.

Each contestant is a process. After its warm-up it says `ready {...}` and sleeps. To `run K` it answers with the seconds
of K steps. The contestants run one at a time, in rounds, so that other load on the machine hits all of them alike.

If `tensors.py` sets `contestants`, `threads`, `tolerances` or `limits`, they hold for the scenario. `contests` is a
list of lists of contestants, which compete one list after another. `more` is a list of contestants in addition to the
usual ones.

A form that begins with bf16- stores and multiplies bf16, with float parameters, as mixed<bf16>, torch.autocast and
casts in JAX do. Its losses are compared with the losses of cairn's float form. Its time is also compared with the time
of the same contestant's float form.

The scenario `budget` runs the models of other scenarios in less memory than their activations need. cairn gets a
percentage of its arena without segments. PyTorch's partitioner gets a percentage of the bytes that it would save. These
bytes are not the same. Therefore a peer's time is compared with the cairn row that takes the most bytes without taking
more than the peer.

Every row goes to the terminal and, as a line of JSON, into build/bench/NAME.jsonl. `./dev bench peers` installs the
peers, but not llm.c, of the scenario gpt2. It is compiled from a clone of yours: LLM_C=FOLDER scenario.py gpt2
"""

import array
import importlib.util
import json
import os
import random
import re
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

top = Path(__file__).resolve().parents[1]
bench = top / "bench"
build = top / "build/bench"
python = top / "build/peers/bin/python"

flags = ["-std=c++20", "-O3", "-march=native", "-fopenmp", f"-I{top / 'include'}", f"-I{bench}"]
rounds = range(5, 16)  # the budget of time decides how many
budget = 60  # seconds for the rounds of a table
seconds_a_run = 0.1  # for the fastest contestant; all contestants make equally many steps
patience = 600  # the most seconds to wait for an answer
usual_tolerances = (1e-4, 1e-3)  # relative, for the losses of the first and of the fifth step
# Rounding to bf16 changes a number by at most 2^-8 of its size. In a loss, most of these changes cancel.
rounded_tolerances = (2**-8, 10 * 2**-8)

cppad = build.parent / "peers/cppad/cmeel.prefix"
llmc = Path(os.environ.get("LLM_C", build.parent / "peers/llm.c")).absolute()
libraries = {  # C++ libraries, and the options with which their programs are compiled
    "adolc": ["-ladolc"],
    "cppad": ["-isystem", str(cppad / "include"), f"-L{cppad / 'lib'}", f"-Wl,-rpath,{cppad / 'lib'}", "-lcppad_lib"],
    "llmc": ["-w", "-Ofast", "-DOMP", "-isystem", str(llmc)],  # as its Makefile does
}

# Contestants in the order of the tables.
everybody = ("cairn", "cairn.optimizer", "torch", "torch.hooks", "torch.compile", "jax")
in_bf16 = ("cairn", "torch", "torch.compile", "jax")
contestants = [(who, numbers + form) for who in everybody for numbers in (("", "bf16-") if who in in_bf16 else ("",))
               for form in ("plain", "ckpt")]
# The scenario `budget`: the scenarios that have the models, the percentages, and the solvers of PyTorch's partitioner.
# The fourth solver, dp_knapsack_sliding_hirschberg, finds what dp finds, as `./dev bench oracles` shows.
budgeted = ("readme", "resnet", "densenet")
percents = ("75", "50", "35", "25")
solvers = ("dp", "greedy", "ilp")
within = [*(("cairn.budget", form) for form in ("plain", *percents)),
          ("torch.hooks", "ckpt"), ("torch.compile", "plain"),
          *((f"torch.{solver}", form) for solver in solvers for form in percents)]


class failure(Exception):
    """The reason why there is no figure."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "said nothing"


def compile_program(source, target, *options):
    """Compiles a program, unless it is newer than its sources. Returns the seconds that its last compilation took."""
    note = target.with_suffix(".json")
    sources = [source, *(file for name in ("bench", "include", "examples") for file in (top / name).rglob("*.hpp"))]
    if note.exists() and target.exists() and target.stat().st_mtime > max(s.stat().st_mtime for s in sources):
        return json.loads(note.read_text())["seconds"]
    target.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    done = subprocess.run(["g++", *flags, str(source), "-o", str(target), *options], text=True, capture_output=True)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise failure(next((line for line in done.stderr.splitlines() if "error" in line), last_line(done.stderr)))
    note.write_text(json.dumps({"seconds": seconds}))
    return seconds


def import_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_tensors(module, folder):
    """Writes a file for each tensor. The numbers are the same every time."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: (number, extents) for name, (number, *extents) in {**module.tensors, **module.labels}.items()}
    for name, (number, extents) in made.items():
        size = 1
        for extent in extents:
            size *= extent
        if (folder / name).exists() and (folder / name).stat().st_size == 4 * size:
            continue
        draw = random.Random(name)
        if name in module.labels:
            values = array.array("i", (draw.randrange(number) for _ in range(size)))
        else:
            scale = number / 32768
            values = array.array("f", (scale * x for x in array.array("h", draw.randbytes(2 * size))))
        (folder / name).write_bytes(values.tobytes())


def environment(threads):
    """Returns environment variables that tell every library the number of threads. Waiting threads spin, then sleep."""
    return os.environ | {
        "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
        "MKL_THREADING_LAYER": "GNU", "GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "17",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(bench), "PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_CACHE_DIR": str(build / "inductor"),
    }


def on_processors(threads):
    """Restricts a process to as many processors as it has threads, because XLA makes a thread for each processor."""
    return lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


class contestant:
    def __init__(self, command, log, threads):
        self.log = log
        self.buffer = b""
        with open(log, "w") as errors:
            try:
                self.process = subprocess.Popen(
                    [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                    env=environment(threads) | {"LD_PRELOAD": str(build / "heap.so")},
                    preexec_fn=on_processors(threads))
            except OSError as error:
                raise failure(f"cannot run {command[0]}: {error.strerror}") from error

    def line(self):
        deadline = time.monotonic() + patience
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))[0]:
                self.process.kill()
                raise failure(f"no answer within {patience} s")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                code = self.process.wait()
                raise failure(f"exit {code}: {last_line(Path(self.log).read_text(errors='replace'))}")
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\n")
        return text.decode()

    def ready(self):
        """Returns what the contestant says about itself. Peers may print other lines before."""
        while not (text := self.line()).startswith("ready "):
            pass
        return json.loads(text.removeprefix("ready "))

    def run(self, count):
        """Returns the seconds of a step."""
        try:
            self.process.stdin.write(f"run {count}\n".encode())
            self.process.stdin.flush()
        except OSError:
            pass  # the process has ended; line() reports how
        return float(self.line()) / count

    def resident(self):
        """Returns the most bytes of the process that were in memory at once, with code and libraries."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])

    def stop(self):
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def spread(samples):
    """Returns first quartile, median and third quartile."""
    if len(samples) == 1:
        return samples * 3
    return statistics.quantiles(samples, n=4, method="inclusive")


def ratio(samples, own):
    """Returns the median of the ratios of the rounds. Load that slows the machine for a while slows both alike."""
    return statistics.median(theirs / ours for theirs, ours in zip(samples, own))


def judge(said, reference, tolerances=usual_tolerances):
    """Returns what is wrong with a contestant's losses, or an empty text. The losses are those of the first step and of
    the fifth step. Until the fifth step, rounding and the optimizer have made them differ more. Both tolerances are
    relative to the first loss: a loss that has fallen to a hundredth has two correct digits fewer.
    """
    for step, tolerance in zip(("first", "later"), tolerances):
        if not abs(said[step] - reference[step]) <= tolerance * abs(reference["first"]):
            return f"FAIL: the {step} loss is {said[step]:.6g}, cairn's is {reference[step]:.6g}"
    return ""


def command_of(who, form, scenario, threads):
    """Returns a contestant's command, and the seconds of compiling it, if it is compiled."""
    folder = build / scenario
    library, _, special = who.partition(".")
    if special == "budget":
        model = f"-I{bench / 'scenario' / scenario}"
        seconds = compile_program(bench / "scenario/budget/cairn.cpp", folder / "budget", model, "-ldl")
        return [folder / "budget", folder / "tensors", form], seconds
    form = f"{special}-{form}" if special else form
    if library == "cairn":
        seconds = compile_program(bench / "scenario" / scenario / "cairn.cpp", folder / "cairn", "-ldl")
        return [folder / "cairn", folder / "tensors", form], seconds
    if library == "llmc" and not (llmc / "train_gpt2.c").exists():
        raise failure("missing: LLM_C=FOLDER names a clone of github.com/karpathy/llm.c")
    if library in libraries:
        source = bench / "scenario" / scenario / f"peer_{library}.cpp"
        seconds = compile_program(source, folder / library, *libraries[library], "-ldl")
        return [folder / library, folder / "tensors", form], seconds
    script = bench / "scenario" / scenario / f"peer_{library}.py"
    if not script.exists():
        raise failure(f"no {script.name}")
    if not python.exists():
        raise failure("missing: ./dev bench peers installs it")
    return [python, "-B", script, folder / "tensors", form, threads], None


def start(who, form, scenario, threads):
    """Starts a contestant. Returns it when it is ready, and its row so far."""
    command, seconds = command_of(who, form, scenario, threads)
    begin = time.monotonic()
    process = contestant(command, build / scenario / f"{who}-{form}.log", threads)
    try:
        said = process.ready()
    except (failure, ValueError):
        process.stop()
        raise
    return process, {**said, "compile": seconds, "start": time.monotonic() - begin}


def processor(threads, before=None):
    """Returns the FLOP/s and the bytes/s that the processor reaches. Each is the higher one of now and `before`."""
    compile_program(bench / "processor.cpp", build / "processor", "-pthread")
    now = json.loads(subprocess.run([str(build / "processor"), str(threads)], check=True, text=True,
                                    capture_output=True, preexec_fn=on_processors(threads)).stdout)
    return {what: max(now[what], (before or now)[what]) for what in now}


def rounds_for(seconds, limits):
    """Returns the number of rounds, if a round takes so long."""
    wanted = int(limits.get("budget", budget) / max(seconds, 1e-9))
    return min(max(wanted, limits.get("least", rounds[0])), rounds[-1])


def takes_part(who, form, scenario):
    """Returns whether a form exists. A scenario without an optimizer has no forms of optimizers, and none in bf16."""
    if who not in ("cairn.optimizer", "torch.hooks") and not form.startswith("bf16-"):
        return True
    return "contestant::train" in (bench / "scenario" / scenario / "cairn.cpp").read_text()


def contest(scenario, threads, taking_part=None, limits={}, more=()):
    """Returns the rows of all contestants. `limits` can have `budget`, in seconds, and `least`, the fewest rounds."""
    rows, running = [], []
    usual = [each for each in contestants if takes_part(*each, scenario)]
    for who, form in [*(taking_part or usual), *more]:
        row = {"scenario": scenario, "threads": threads, "who": who, "form": form, "fault": ""}
        rows.append(row)
        try:
            process, said = start(who, form, scenario, threads)
            row.update(said)
            running.append((process, row))
        except (failure, ValueError) as fault:
            row["fault"] = str(fault)

    def ask(process, row, count):
        try:
            return process.run(count)
        except (failure, ValueError) as fault:
            row["fault"] = row["fault"] or str(fault)

    first = [taken for taken in (ask(*each, 1) for each in running) if taken]
    count = max(1, round(seconds_a_run / min(first))) if first else 1
    for _ in range(rounds_for(sum(first) * (count + 1), limits)):
        for process, row in running:
            if not row["fault"] and (taken := ask(process, row, count)):
                row.setdefault("samples", []).append(taken)
    for process, row in running:
        if not row["fault"]:
            row["resident"] = process.resident()
        process.stop()
    return rows


def in_same_form(row, cairn):
    return next((own for own in cairn if own["form"] == row["form"]), {})


def of_floats(row, rows):
    """Returns the row of the same form without bf16-. For a form without bf16-, this is the row itself."""
    return in_same_form({"form": row["form"].removeprefix("bf16-")}, rows)


def with_gradients(row):
    return row["memory"] + row.get("gradients", 0)


def in_as_much_memory(row, cairn):
    """Returns the cairn row that takes the most memory, but no more than `row`. cairn's rows are compared with plain.
    """
    if row in cairn:
        return cairn[0]
    fitting = [own for own in cairn if not own["fault"] and with_gradients(own) <= with_gradients(row)]
    own = max(fitting, key=with_gradients, default={})
    row["note"] = f"cairn {own['form']}" if own else "cairn needs more"
    return own


def compare(rows, machine, tolerances=usual_tolerances, own_of=in_same_form):
    """Adds the figures that follow from other rows. A ratio compares a row with cairn's row own_of(row, cairn). A row
    with a fault gets no figures.
    """
    cairn = [row for row in rows if row["who"] in ("cairn", "cairn.budget")]
    references = [row for row in cairn if "first" in row]
    for row in rows:
        if "first" in row and references:
            allowed = rounded_tolerances if row["form"].startswith("bf16-") else tolerances
            row["fault"] = row["fault"] or judge(row, of_floats(row, references) or references[0], allowed)
        if row["fault"] or not row.get("samples"):
            continue
        own = own_of(row, cairn)
        row["quartiles"], row["best"] = spread(row["samples"]), min(row["samples"])
        if own.get("samples") and not own["fault"]:
            row["ratio"] = ratio(row["samples"], own["samples"])
        floats = of_floats(row, [other for other in rows if other["who"] == row["who"]])
        if floats is not row and floats.get("samples") and not floats["fault"]:
            row["to_floats"] = ratio(row["samples"], floats["samples"])
        if row in cairn:
            row["of_flops"] = row["flops"] / row["quartiles"][1] / machine["flops"]
            row["of_bandwidth"] = row["bytes"] / row["quartiles"][1] / machine["bandwidth"]
    return rows


def table(rows):
    """Returns the rows as text. A row without figures has its fault."""
    def cell(row, key, text, scale=1):
        return text.format(row[key] * scale) if row.get(key) else ""

    width = max(20, *(len(row["who"] + row["form"]) + 1 for row in rows))
    out = [f"{'':{width}}{'ms a step':>11}{'quartiles':>20}{'best':>10}{'to cairn':>10}{'to floats':>11}{'MiB':>9}{'+ gradients':>13}"
           f"{'resident':>10}{'compile s':>11}"
           f"{'of FMA':>8}{'of memory':>11}"]
    for row in rows:
        text = f"{row['who'] + ' ' + row['form']:{width}}"
        if "quartiles" in row:
            low, median, high = (1e3 * x for x in row["quartiles"])
            text += f"{median:11.2f}{f'{low:.2f} - {high:.2f}':>20}{1e3 * row['best']:10.2f}"
            text += f"{cell(row, 'ratio', '{:.2f}'):>10}{cell(row, 'to_floats', '{:.2f}'):>11}"
            text += f"{row['memory'] / 2**20:9.2f}{with_gradients(row) / 2**20:13.2f}"
            text += f"{cell(row, 'resident', '{:.0f}', 2**-20):>10}"
            text += f"{cell(row, 'compile', '{:.1f}'):>11}{cell(row, 'of_flops', '{:.0f} %', 100):>8}"
            text += f"{cell(row, 'of_bandwidth', '{:.0f} %', 100):>11}  {row.get('note', '')}"
        out.append((text + ("  " + row["fault"] if row["fault"] else "")).rstrip())
    return "\n".join(out)


def products(scenario, threads):
    """Returns the rows of blas.cpp: the FLOP/s of each contestant for each product."""
    source = bench / "scenario" / scenario / "blas.cpp"
    row = {"scenario": scenario, "threads": threads, "fault": ""}
    try:
        row["compile"] = compile_program(source, build / scenario / "blas", "-ldl")
        libraries = python.parents[1] / "lib"
        numpy = next(libraries.glob("python*/site-packages/numpy.libs/libscipy_openblas*.so"), "libscipy_openblas.so")
        onednn = python.parents[1] / "gomp/lib/libdnnl.so.3"
        process = subprocess.run([str(build / scenario / "blas"), str(threads), str(numpy), str(onednn)], text=True,
                                 capture_output=True, preexec_fn=on_processors(threads),
                                 env=environment(threads) | {"LD_LIBRARY_PATH": str(libraries)})
        if process.returncode != 0:
            raise failure(f"exit {process.returncode}: {last_line(process.stderr)}")
        return [row | json.loads(line) for line in process.stdout.splitlines()]
    except failure as fault:
        return [row | {"who": "cairn", "fault": str(fault)}]


def product_table(rows, machine):
    """Returns the rows as text: GFLOP/s, and the ratio of cairn to the fastest other library. The last row has
    geometric means of the ratios of cairn to each library, and to the fastest. Products of bf16 have a table of their
    own."""
    in_bf16 = [row for row in rows if row.get("product", "").startswith("bf16 ")]
    if in_bf16 and len(in_bf16) < len(rows):
        others = [row for row in rows if row not in in_bf16]
        return "\n".join(product_table(some, machine) for some in (others, in_bf16))
    speeds = [row["flops"] for row in rows if "flops" in row]
    names = list(dict.fromkeys(name for speed in speeds for name in speed))
    out = [f"{'':22}" + "".join(f"{name:>16}" for name in names) + f"{'to the best':>13}{'of FMA':>8}"]
    for row in rows:
        if "flops" not in row:
            out.append(f"{row.get('product', ''):22}  {row['fault']}")
            continue
        speed = row["flops"]
        others = [speed[name] for name in speed if not name.startswith("cairn")]
        row["ratio"] = speed["cairn"] / max(others, default=speed["cairn"])
        cells = "".join(f"{speed[name] / 1e9:16.1f}" for name in names)
        out.append(f"{row['product']:22}{cells}{row['ratio']:13.2f}{100 * speed['cairn'] / machine['flops']:6.0f} %"
                   + ("  " + row["fault"] if row["fault"] else ""))
    if speeds:
        means = [statistics.geometric_mean(speed["cairn"] / speed[name] for speed in speeds) for name in names]
        best = statistics.geometric_mean(row["ratio"] for row in rows if "ratio" in row)
        out.append(f"{'cairn to each':22}" + "".join(f"{mean:16.2f}" for mean in means) + f"{best:13.2f}")
    return "\n".join(out)


def report(name, threads, machine, about, text):
    print(f"\n{name}, {threads} thread{'s' * (threads > 1)} of {machine['flops'] / 1e9:.0f} GFLOP/s and "
          f"{machine['bandwidth'] / 1e9:.1f} GB/s: {about}\n{text}", flush=True)


def run(scenario):
    """Runs a scenario. Returns whether cairn ran and all contestants agreed with it."""
    all_rows = []
    for model in budgeted if scenario == "budget" else [scenario]:
        path = bench / "scenario" / model / "tensors.py"
        module = import_file(path) if path.exists() else None
        if module:
            write_tensors(module, build / model / "tensors")
        taking_part = within if scenario == "budget" else getattr(module, "contestants", None)
        tolerances = getattr(module, "tolerances", usual_tolerances)
        for threads in getattr(module, "threads", (1, 2)):
            if threads > len(os.sched_getaffinity(0)):
                continue
            machine = processor(threads)
            limits = getattr(module, "limits", {})
            rows = ([row for each in getattr(module, "contests", [taking_part])
                     for row in contest(model, threads, each, limits, getattr(module, "more", ()))]
                    if module else products(model, threads))
            machine = processor(threads, machine)
            if module:
                compare(rows, machine, tolerances, in_as_much_memory if scenario == "budget" else in_same_form)
            report(model, threads, machine, module.__doc__.strip() if module else "GFLOP/s",
                   table(rows) if module else product_table(rows, machine))
            all_rows += [row | {"machine": machine} for row in rows]
    (build / f"{scenario}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in all_rows))
    own = ("cairn", "cairn.budget")
    return not any(row["fault"] and (row.get("who") in own or "FAIL" in row["fault"]) for row in all_rows)


def main():
    known = sorted(path.name for path in (bench / "scenario").iterdir() if path.is_dir())
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"no scenario is called {name}: {' '.join(known)}")
    compile_program(bench / "heap.cpp", build / "heap.so", "-shared", "-fPIC")
    sys.exit(not all([run(name) for name in wanted]))


if __name__ == "__main__":
    main()
