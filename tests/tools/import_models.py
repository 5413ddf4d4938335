#!/usr/bin/env -S python3 -B
"""Brings models of PyTorch's packages to cairn, unedited, and back:
import_models.py [keep | model...]

./dev test import runs the script, with the peers. Each model of tests/import/models.py is imported, its check.cpp is
compiled and run, and its train.cpp is compiled. The parameters that cairn trained are loaded in PyTorch with
strict=True, by the function of docs/from-pytorch-model.md, and both must then compute the same outputs. The script prints
a table, and notes each model that fails. Without names it also imports the models of tests/kept/import again, whose
files of text must be those that are kept, and runs import_problems.py and import_written.py.
keep     Writes what the importer makes of the models of tests/kept/import, and the page.
"""

import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

top = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(top / "tools"), str(top / "tests/import")]

import import_written  # noqa: E402
import import_kept  # noqa: E402
import import_problems  # noqa: E402
import models  # noqa: E402
import torch  # noqa: E402
from readme import blocks  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

out = top / "build/import"
flags = ["-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{top}/include", "-I."]
most_seconds, most_megabytes = 90, 4000

# Prints the outputs of the parameters that check.cpp trained.
outputs = """#include "model.hpp"
#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>
#include <cstdio>
using namespace cairn;
int main() {
INPUTS
  predictor<NAMESPACE::OUTPUT> predict{"trained.safetensors"};
  for (const float y : predict(BOUND)) std::printf("%.9g ", static_cast<double>(y));
}
"""


def compiled(folder, source, *options):
    """Compiles a file. Returns the seconds, the megabytes, and what the compiler says."""
    command = ["/usr/bin/time", "-f", "%U %M", "g++", *flags, source, *options]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds, kilobytes = re.findall(r"[\d.]+", run.stderr.strip().splitlines()[-1])
    return float(seconds), int(kilobytes) / 1024, run.stderr if run.returncode else ""


def deviations(text):
    """Returns the deviations of outputs, gradients and losses that are nearest to their limits, each divided by the
    largest number of its array."""
    found = {"output": 0.0, "gradients": 0.0, "losses": 0.0}
    for kind, a, b in re.findall(r"^.*?(output|gradients|losses).*?: .*deviation (\S+) of ([^\s,]+)", text, re.M):
        found[kind] = max(found[kind], float(a) / float(b))
    return found


def goes_back(name, folder):
    """Loads the parameters that cairn trained into a new module, and compares the outputs of both. Returns the largest
    deviation, relative to the largest output."""
    module, given = getattr(models, name)()[:2]
    shown = {}
    exec(blocks(import_kept.page.read_text(), "python")[1], shown)
    shown["load_trained"](module, folder)
    check = (folder / "check.cpp").read_text()
    space, output = re.search(r"predictor<(\w+)::(\w+)>", check).groups()
    bound = re.search(r"predict_\w+\((bind.*?)\), 1e-5\)", check)[1]
    lines = "\n".join(line for line in re.findall(r"^  const auto \w+ = data::read_safetensors.*$", check, re.M)
                      if f'"{re.search(r"const auto (.*?) =", line)[1]}"' in bound)
    text = outputs.replace("INPUTS", lines).replace("NAMESPACE", space).replace("OUTPUT", output).replace("BOUND", bound)
    (folder / "back.cpp").write_text(text)
    _, _, error = compiled(folder, "back.cpp", "-O0", "-o", "back")
    if error:
        raise RuntimeError(error[:2000])
    said = subprocess.run(["./back"], cwd=folder, capture_output=True, text=True, check=True).stdout
    mine = torch.tensor([float(word) for word in said.split()])
    with torch.no_grad():
        numbers = load_file(folder / "numbers.safetensors")
        inputs = {k: numbers[f"inputs/{k}"].to(given[k].dtype) for k in re.findall(r'bind<"(\w+)">', bound)}
        theirs = module.eval()(**inputs)
    theirs = (theirs if isinstance(theirs, torch.Tensor) else theirs[0]).flatten()
    return float((mine - theirs).abs().max() / theirs.abs().max())


def bring(name):
    """Imports, checks and trains one model. Returns the row of the table, and what failed."""
    folder = out / name
    begin = time.time()
    command = [sys.executable, top / "tools/cairn-import", top / f"tests/import/models.py:{name}", "--out", folder]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr[-2000:] or run.stdout[-2000:]
    seconds = time.time() - begin
    lines = len((folder / "model.hpp").read_text().splitlines())
    parts = "check", "check_training", "train"
    *checks, (train, *_) = programs = [compiled(folder, f"{part}.cpp", "-c") for part in parts]
    check, megabytes = max(seconds for seconds, *_ in checks), max(megabytes for _, megabytes, _ in programs)
    error = "".join(error for *_, error in programs)
    if error:
        return None, error[:2000]
    subprocess.run(["g++", *folder.glob("check*.o"), "-o", "check"], cwd=folder, check=True)
    said = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True)
    far = [line for line in said.stdout.splitlines() if line.startswith("  NOT CLOSE")]
    back = goes_back(name, folder) if not said.returncode else float("nan")
    found = deviations(said.stdout)
    faults = [*far, *([said.stderr] if said.returncode and not far else [])]
    if max(check, train) > most_seconds or megabytes > most_megabytes:
        faults.append(f"compiled in {max(check, train):.0f} s, {megabytes:.0f} MB")
    if not back <= 1e-5:
        faults.append(f"PyTorch's outputs of the trained parameters deviate by {back:.1e}")
    row = f"{name:14} {lines:6} {seconds:8.1f} {check:8.1f} {train:8.1f} {megabytes:7.0f}" + "".join(
        f" {found[kind]:9.1e}" for kind in found) + f" {back:9.1e}"
    return row, "\n".join(faults)


def main(names):
    if names == ["keep"]:
        return import_kept.keep()
    kept, suites = ([], []) if names else (import_kept.exports(), [import_problems, import_written])
    names = names or [function.__name__ for function in models.PACKAGES]
    print(f"{'model':14} {'lines':>6} {'import s':>8} {'check s':>8} {'train s':>8} {'MB':>7} {'outputs':>9} "
          f"{'gradients':>9} {'losses':>9} {'back':>9}", flush=True)
    failed = 0
    for name in names:
        row, fault = bring(name)
        print(row or f"{name:14} was not imported", flush=True)
        if fault:
            failed += 1
            print(fault, flush=True)
    for function, package in models.PACKAGES.items():
        if function.__name__ in names:
            print(f"{function.__name__}: {package} {metadata.version(package)}")
    for export in kept:
        difference = import_kept.stale(export, out / f"kept_{export.name}")
        failed += bool(difference)
        print("FAIL" if difference else "ok  ", export.relative_to(top), difference, flush=True)
    for suite in suites:
        faults = suite.faults()
        failed += bool(faults)
        print("FAIL" if faults else "ok  ", suite.__name__, *faults, sep="\n" if faults else " ", flush=True)
    print(f"{len(names) + len(kept) + len(suites) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
