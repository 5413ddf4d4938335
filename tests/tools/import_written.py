#!/usr/bin/env -S python3 -B
"""Imports models whose text is known in part, and compares them with PyTorch: import_written.py [model...]

./dev test import runs the script, with the peers. Each model of tests/import/checkpoints.py, which call
torch.utils.checkpoint, and of tests/import/written.py must become the text of its comments `# written: text`. Its
check.cpp is compiled and run.
"""

import contextlib
import inspect
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

top = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(top / "tools"), str(top / "tests/import")]

import checkpoints  # noqa: E402
import written  # noqa: E402
from cairn_import.__main__ import main as cairn_import  # noqa: E402

cases = checkpoints.CASES | written.CASES
compiler = ["g++", "-std=c++20", "-O1", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{top}/include"]


def joined(text):
    """The text with one space in the place of spaces and line breaks."""
    return re.sub(r"\s+", " ", text)


def faults_of(name, folder):
    source = top / "tests/import" / ("checkpoints.py" if name in checkpoints.CASES else "written.py")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        said = cairn_import([f"{source}:{name}", "--out", folder])
    if said:
        return [f"{name}: {said}"]
    model = joined((Path(folder) / "model.hpp").read_text())
    wanted = re.findall(r"# written: (.*)", inspect.getsource(inspect.unwrap(cases[name])))
    out = [f"{name}: the model lacks {text}\n{model}" for text in wanted if joined(text) not in model]
    run = subprocess.run([*compiler, "check.cpp", "check_training.cpp", "-o", "check"], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        return [*out, f"{name}: {run.stderr[:2000]}"]
    run = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True)
    return out + ([f"{name}: {run.stdout}{run.stderr}"] if run.returncode or "gradients of " not in run.stdout else [])


def faults(names=()):
    """Returns a text for each model that is not imported with its segments, or that deviates from PyTorch."""
    out = []
    for name in names or cases:
        with tempfile.TemporaryDirectory() as folder:
            out += faults_of(name, folder)
    return out


def main(names):
    found = faults(names)
    for fault in found:
        print(fault, flush=True)
    print(f"{len(names or cases)} models, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
