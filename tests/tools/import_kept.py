#!/usr/bin/env -S python3 -B
"""Checks the kept exports of tools/cairn-import, and the page docs/from-pytorch-model.md: import_kept.py [write]

Each folder of tests/kept/import has a model, my_model.py, and what the importer wrote for it. The script compiles both
programs of an export. It runs check.cpp, which compares cairn's numbers with PyTorch's, and which must fail if a number
of PyTorch changes. The page shows the first model with its model.hpp, and lists what the tables of the importer have.
`import_kept.py write` writes the model and the lists on the page. `./dev test import keep` imports the models again and
replaces what the importer wrote. This needs the peers.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from unittest.mock import patch

from compilers import compile_file, compilers, report, top

kept = top / "tests/kept/import"
page = top / "docs/from-pytorch-model.md"
marker = "<!-- `tests/tools/import_kept.py write` writes the rest of this page. -->\n"
texts = ["model.hpp", "check.hpp", "check.cpp", "check_training.cpp", "train.cpp", "meson.build", "CMakeLists.txt"]
changed = r"outputs/output|losses/sgd|gradients/.*weight"  # arrays of which check.cpp must notice a change


def exports():
    return sorted(path.parent for path in kept.glob("*/my_model.py"))


# ---------------------------------------------------------------------- with PyTorch

def imported(export, folder):
    """Imports the model of a kept export again. Returns what the importer says if it fails."""
    import torch
    sys.path.insert(0, str(top / "tools"))
    from cairn_import.__main__ import main as cairn_import
    torch.manual_seed(0)
    return cairn_import([f"{export}/my_model.py:make", "--out", str(folder)])


def keep():
    """Imports the models of the kept exports again, and writes the page."""
    for export in exports():
        for path in export.iterdir():
            if path.name != "my_model.py":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        error = imported(export, export)
        if error:
            sys.exit(error)
    subprocess.run([__file__, "write"], check=True)  # a process in which the importer is not loaded


def stale(export, folder):
    """Imports the model of a kept export again. Returns how its files of text differ from those that are kept."""
    error = imported(export, folder)
    return error or "\n".join(chain(*(difference((export / name).read_text(), (folder / name).read_text())
                                      for name in texts)))


# ---------------------------------------------------------------------- without PyTorch

def difference(is_there, should_be):
    return unified_diff(is_there.splitlines(), should_be.splitlines(), "as it is", "as it should be", lineterm="")


def runs(folder):
    """Runs the check in a folder. Returns the names of the arrays that are not close to PyTorch's, or what went wrong."""
    done = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True)
    far = re.findall(r"^  NOT CLOSE: (\S+),", done.stdout, re.MULTILINE)
    end = rf"{len(far)} of \d+ arrays are not close to PyTorch's\.\n" if far else r"The model agrees with PyTorch's numbers\.\n"
    is_as_told = done.returncode == bool(far) and re.search(rf"^{end}\Z", done.stdout, re.MULTILINE)
    return far if is_as_told else [f"ends with {done.returncode}: {done.stdout}{done.stderr}"]


def change(path):
    """Changes the last number of some arrays in a file. Returns the names of these arrays."""
    held = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(held[:8], "little")
    found = {name: entry for name, entry in json.loads(held[8:begin]).items() if re.fullmatch(changed, name)}
    for entry in found.values():
        end = begin + entry["data_offsets"][1]
        held[end - 4:end] = b"\1\2\3\100"
    path.write_bytes(held)
    return {name.partition("/")[2] for name in found}


def export_faults(export, compiler):
    """Yields what is checked of a kept export, and what is wrong with it or an empty text."""
    with tempfile.TemporaryDirectory() as work:
        folder = shutil.copytree(export, Path(work) / export.name)
        accepted, printed = compile_file(compiler, folder / "train.cpp", "-Werror")
        yield f"{export.name}/train.cpp with {compiler}", "" if accepted else printed
        accepted, printed = compile_file(compiler, folder / "check.cpp", str(folder / "check_training.cpp"), "-Werror",
                                         "-o", str(folder / "check"), syntax_only=False)
        yield f"{export.name}/check.cpp with {compiler}", "" if accepted else printed
        if not accepted:
            return
        yield f"{export.name}: PyTorch's numbers", "\n".join(runs(folder))
        names = change(folder / "numbers.safetensors")
        missed = names - set(runs(folder))
        yield f"{export.name}: changed numbers", f"not noticed: {', '.join(missed)}" if missed else ""


class Stub:
    """Stands for the package torch and for everything in it, because the tables of the importer name its types."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, part):
        if part.startswith("__"):
            raise AttributeError(part)
        return Stub(f"{self.name}.{part}")


def tables():
    """Returns the tables of operations and of modules. PyTorch need not be installed."""
    with patch.dict(sys.modules, {"torch": Stub("torch")}), patch.object(sys, "path", [str(top / "tools"), *sys.path]):
        from cairn_import import modules, rules
    return rules.TABLE, modules.TABLE


def rows(table):
    """Yields a row for each rule of a table. The first line of the rule's docstring says what becomes of the names."""
    names = {}
    for name, rule in table.items():
        names.setdefault(rule, []).append(getattr(name, "name", name).removeprefix("torch."))
    for rule, known in names.items():
        said = (rule.__doc__ or "").partition("\n")[0].replace("|", r"\|")
        yield f"| {', '.join(f'`{name}`' for name in known)} | {said} |\n"


def written(text, example, operations, modules):
    """Returns the page that should be in place of `text`. `example` is the folder of the export that the page shows."""
    for language, name in (("python", "my_model.py"), ("cpp", "model.hpp")):
        shown = f"```{language}\n{(example / name).read_text()}```\n"
        text = re.sub(rf"^```{language}\n.*?^```\n", lambda _: shown, text, count=1, flags=re.MULTILINE | re.DOTALL)

    def listed(head, table):
        return f"\n| {head} | in cairn |\n|---|---|\n" + "".join(rows(table))

    return (text.partition(marker)[0] + marker + listed("operation of ATen", operations)
            + "\nThese modules become one layer where cairn has their settings. All other modules are read through their "
              "operations.\n"
            + listed("module", modules))


def page_faults(text, example, operations, modules):
    """Yields what is wrong with the page."""
    known = (top / "docs/operations.md").read_text()
    for row in chain(rows(operations), rows(modules)):
        if row.endswith("|  |\n"):
            yield f"no docstring: {row}"
        in_cairn = row.split(" | ", 1)[1]
        names = {*re.findall(r"nn::\w+", in_cairn), *re.findall(r"(?<![\w:])[a-z]\w+(?=[<(])", in_cairn)}
        yield from (f"{name} is not in docs/operations.md: {row}" for name in names if not re.search(rf"\b{name}\b", known))
    yield from difference(text, written(text, example, operations, modules))


def main(*arguments):
    if arguments == ("write",):
        return page.write_text(written(page.read_text(), kept / "digits", *tables()))
    found = "\n".join(page_faults(page.read_text(), kept / "digits", *tables()))
    report(chain([("docs/from-pytorch-model.md", found)], *(export_faults(each, compilers[-1]) for each in exports())))


if __name__ == "__main__":
    main(*sys.argv[1:])
