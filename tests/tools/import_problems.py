#!/usr/bin/env -S python3 -B
"""Imports models that cairn-import must refuse, and compares what it says with comments in tests/import/unsupported.py:
import_problems.py [case...]

./dev test import runs the script, with the peers. Each line that has a comment `# refused: words` must be named, with
these words, and no other line may be. Nothing may be written, also if the folder exists.
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

import unsupported  # noqa: E402
from cairn_import.__main__ import main as cairn_import  # noqa: E402

source = top / "tests/import/unsupported.py"


def expected(name):
    """The lines that must be reported, each with words of its message."""
    lines, first = inspect.getsourcelines(inspect.unwrap(unsupported.CASES[name]))
    lines = [(first + i, line.partition("# refused: ")[2].strip()) for i, line in enumerate(lines)]
    # What no line of the model shows is reported with the line of the function that returns it.
    made = inspect.getsourcelines(unsupported.CASES[name].__code__)[1]
    return [(made if number == first else number, words) for number, words in lines if words]


def told(name, out):
    """What cairn-import says about a case: an error, or 0."""
    arguments = [f"{source}:{name}", "--out", str(out)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return cairn_import(arguments)


def faults(names=()):
    """Returns a sentence for each case that is not refused as its comments say."""
    out = []
    for name in names or unsupported.CASES:
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "kept"
            kept.mkdir()
            (kept / "model.hpp").write_text("kept\n")
            said = told(name, kept)
            if [f.name for f in kept.iterdir()] != ["model.hpp"] or (kept / "model.hpp").read_text() != "kept\n":
                out.append(f"{name}: files were written")
            if not isinstance(said, str):
                out.append(f"{name}: was imported")
                continue
        found = [(int(number), text) for file, number, text in re.findall(r"^(.+?):(\d+): (.*)$", said, re.M)
                 if Path(file).resolve() == source]
        lines = said.count("\n")
        wanted = expected(name)
        unnamed = [row for row in wanted if not any(row[0] == number and row[1] in text for number, text in found)]
        more = [row for row in found if not any(row[0] == number and words in row[1] for number, words in wanted)]
        out += [f'{name}: line {number} is not refused with "{words}"' for number, words in unnamed]
        out += [f"{name}: line {number} is refused, too: {text}" for number, text in more]
        if lines != len(found) or len(found) != len(wanted):
            out.append(f"{name}: {len(wanted)} lines were expected, and not\n{said}")
    return out


# Files and arguments that fail before a model is made, and what the command then says.
mistakes = [
    (None, "none.py:make", "there is no file none.py: give FILE.py:FUNCTION"),
    (None, "none.py", "there is no file none.py: give FILE.py:FUNCTION"),
    ("def make():\n    pass\ndef small():\n    pass\n", "model.py",
     "model.py: give FILE.py:FUNCTION; the functions of the file are `make` and `small`"),
    ("def make():\n    pass\n", "model.py:mkae", "model.py: the file has no function mkae; its functions are `make`"),
    ("make = 3\n", "model.py:make", "model.py: the file has no function make; its functions are none"),
    ("\nimport no_such_package\n", "model.py:make",
     "model.py:2: the file fails here (ModuleNotFoundError: No module named 'no_such_package'): install the package"),
    ("def make():\n    import no_such_package\n", "model.py:make", "model.py:2: make fails here (ModuleNotFoundError"),
    ("\n1 / 0\n", "model.py:make", "model.py:2: the file fails here (ZeroDivisionError: division by zero): correct it"),
    ("\ndef make(:\n", "model.py:make", "model.py:2: the file is not Python (SyntaxError: invalid syntax"),
    ("import torch\ndef make():\n    return torch.nn.ReLU()\n", "model.py:make --input 3x4",
     "model.py:2: --input 3x4 is no shape: give whole numbers, such as 32,3,224,224"),
]


def command_faults():
    """Returns a sentence for each way in which the command line differs from what is called here."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new"
        command = [sys.executable, "-B", top / "tools/cairn-import", f"{source}:branch", "--out", new]
        run = subprocess.run(command, capture_output=True, text=True)
        out = [] if run.returncode == 1 else [f"the status is {run.returncode}, and not 1"]
        out += ["a folder was made"] if new.exists() else []
        out += [] if "nothing is written" in run.stderr and not run.stdout else [f"it said\n{run.stdout}{run.stderr}"]
        with contextlib.chdir(folder):
            for text, arguments, words in mistakes:
                Path("model.py").write_text(text or "")
                said = cairn_import([*arguments.split(), "--out", "new"])
                out += [] if words in str(said) else [f"{arguments}: {words} was expected, and not\n{said}"]
        return out


def main(names):
    found = faults(names) + ([] if names else command_faults())
    for fault in found:
        print(fault, flush=True)
    print(f"{len(names or unsupported.CASES)} models, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
