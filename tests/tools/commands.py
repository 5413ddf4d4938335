#!/usr/bin/env -S python3 -B
"""Runs every command that README, docs or the help of `dev` name, in a clean clone: commands.py [PART OF A COMMAND]

Each command runs with the smallest arguments that it accepts. All commands together take more than an hour, and `./dev
bench peers` downloads 4 GB. tests/tools/readme.py checks in no time that the commands exist.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from compilers import finish, top

# Replacements for commands that would run for hours, train for long, or install for all users.
smallest = {
    "./dev demo": "./dev demo --epochs 1",
    "./dev demo gpt": "./dev demo gpt --epochs 1",
    "./dev demo gpt2": "./dev demo gpt2 --steps 2",
    "./dev test": "./dev test layering",
    "./dev test all": "./dev test layering",
    "./dev test run laws": "./dev test layering harness",
    "./dev test matrix": "./dev test matrix 'g++ -O0 x86-64-v3'",
    "./dev test fuzz 200": "./dev test fuzz 1",
    "./dev test fuzz 200 7001": "./dev test fuzz 1 7001",
    "./dev test fuzz 480 914001 8 gradients": "./dev test fuzz 1 914001 8 gradients",
    "./dev test mutate": "./dev test mutate 1",
    "./dev test simulated": "./dev test simulated 1 16",
    "./dev test import": "./dev test import tcn",
    "./dev test commands": "./dev test commands './dev help'",
    "./dev bench": "./dev bench memory",
    "./dev bench imported": "./dev test import tcn && ./dev bench imported tcn",
    "./dev bench against COMMIT": "./dev bench against HEAD elementwise",
    "./dev bench scenario": "./dev bench scenario elementwise",
    "bench/seeds.py fashion": "bench/seeds.py fashion 1 1",
    "bench/seeds.py densenet 1": "bench/seeds.py densenet 1 1",
    "bench/seeds.py gpt 1": "bench/seeds.py gpt 1 1",
    **{f"{script}.py": f"[ -x build/peers/bin/python ] || ./dev bench peers; build/peers/bin/python {script}.py {folder}"
       for script, folder in (("tests/kept/torch_values", ""), ("tests/tools/usage", "tests"))},
    "tests/tools/differential.py": "tests/tools/differential.py write 1 1",
    "tests/tools/fuzz.py": "tests/tools/fuzz.py write 5 11 1",
    "tests/tools/rejects.py write": "tests/tools/rejects.py fast-math",
    "meson setup build/package && meson install -C build/package":
        "meson setup build/package && DESTDIR=$PWD/there meson install -C build/package",
    "cmake -S . -B build/cmake && cmake --install build/cmake":
        "cmake -S . -B build/cmake && DESTDIR=$PWD/there cmake --install build/cmake",
    "g++ -std=c++20 -O3 -march=native -Ibuild/single model.cpp -lz":
        "echo 'int main() {}' | g++ -std=c++20 -Ibuild/single -include cairn_all.hpp -x c++ - -o build/one -lz",
    "g++ -std=c++20 -O3 -march=native -Iinclude model.cpp":
        "g++ -std=c++20 -O3 -march=native -Iinclude examples/plan.cpp -o build/plan",
    "g++ -std=c++20 -O3 -march=native -Iinclude model.cpp -lz":
        "g++ -std=c++20 -O3 -march=native -Iinclude examples/quickstart.cpp -lz",
    **{f"g++ -std=c++20 -O3 -march=native -I../include {files} -o {name} && ./{name}":
       f"cp -r tests/kept/import/digits {name} && cd {name} && g++ -std=c++20 -O1 -I../include {files} -o {name} && ./{name}"
       for name, files in (("check", "check.cpp check_training.cpp"), ("train", "train.cpp"))},
    "cmake -S . -B build && cmake --build build && build/check":
        "cmake -S . -B build/itself -DCMAKE_INSTALL_PREFIX=$PWD/model/there && cmake --install build/itself && "
        "cp -r tests/kept/import/digits/* model && cd model && cmake -S . -B build -DCMAKE_PREFIX_PATH=$PWD/there && "
        "cmake --build build --target check && build/check",
}
command = re.compile(r"(\./dev|build/[\w/]+|(tests|bench)/[\w/]+\.(py|sh))( [^|<>]*)?|(cmake|meson|g\+\+) .+")


def named(page):
    """Returns the commands of a page. They stand in its shell blocks, also in their comments, and between
    backquotes."""
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`]+)`", fence.sub("", page))
    for language, block in fence.findall(page):
        for line in block.splitlines() if language == "sh" else []:
            code, _, said = line.partition("#")
            spans += [code, *re.findall(r"\./dev[\w ]*", said)]
    for span in spans:
        if command.fullmatch(words := " ".join(span.split())):
            yield words


def suites(page):
    """Returns the first column of the table of suites."""
    table = re.search(r"^\| suite \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]


def shown(dev):
    """Returns the commands that the help of `dev` shows."""
    lines = re.search(r"<<END\n(.*?)^END$", dev, re.MULTILINE | re.DOTALL)[1].splitlines()
    return [re.sub(r" \[.*", "", line.split("  ")[0]) for line in lines]


def called(dev):
    """Returns the scripts that `dev` calls."""
    return re.findall(r"\$top/((?:tests/tools|bench)/\w+\.\w+)", dev)


@cache
def answer(words, dev):
    """Returns what `dev`, whose text is given, answers to arguments that it does not know. Tools that would build or
    install do nothing here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dev").write_text(dev)
        for tool in ("apt-cache", "apt-get", "dpkg-query", "meson", "ninja", "python3", "sudo"):
            (folder / tool).write_text("#!/bin/sh\n")
            (folder / tool).chmod(0o755)
        done = subprocess.run(["bash", "dev", *words], cwd=folder, text=True, capture_output=True,
                              env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
    return done.stderr.splitlines()[0] if done.returncode == 2 else ""


def problem(line, root):
    """Returns why a command does not exist, or an empty text."""
    first, *words = line.split()
    path = Path(first)
    if first == "./dev":
        absent = [name for name in words[2:] if not (root / "bench/scenario" / name).is_dir()]
        if words[:2] == ["bench", "scenario"] and absent:
            return f"no {absent[0]}"
        return answer(tuple(words), (root / "dev").read_text())
    if path.parts[0] == "build":
        build_file, source = (root / Path(*path.parts[1:-1], name) for name in ("meson.build", f"{path.name}.cpp"))
        exists = source.is_file() and f"'{path.name}'" in build_file.read_text()
        return "" if exists else f"{build_file.relative_to(root)} builds no {path.name}"
    if path.suffix:
        return "" if (root / path).is_file() else "no such file"
    return "" if shutil.which(first) else "not installed"


def run_bits(root):
    """Yields scripts in git that are not executable, and executable files that are no scripts."""
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=root, text=True, capture_output=True, check=True).stdout
    for mode, path in (re.split(r"[ \t]", line)[::3] for line in listed.splitlines()):
        with open(root / path, "rb") as file:
            if (mode == "100755") != (file.read(2) == b"#!"):
                yield f"{path} has mode {mode}"


def collected(root):
    """Returns the commands of all pages and of the help of `dev`, each once."""
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    found = [line for page in pages for line in named(page.read_text())]
    return sorted({*found, *shown((root / "dev").read_text())})


def faults(root=top):
    """Yields each command, and why it does not exist or an empty text."""
    lines = collected(root)
    table = "./dev test " + " ".join(suites((root / "docs/contributing.md").read_text()))
    for line in [*lines, *called((root / "dev").read_text()), table]:
        yield line, problem(line, root)
    yield "smallest arguments", "\n".join(f"nobody names {line}" for line in smallest if line not in lines)
    yield "run bits", "\n".join(run_bits(root))


def runs(lines, part=""):
    """Yields what is run for these commands, each once. A program in build/ is built first."""
    for line in dict.fromkeys(smallest.get(line, line) for line in lines if part in line):
        program = re.match(r"build/([\w/]+)", line)
        yield f"./dev test layering && ninja -C build {program[1]} && {line}" if program else line


def main(part=""):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "cairn"
        subprocess.run(["git", "clone", "-q", top, clone], check=True)
        for line in runs(collected(clone), part):
            start = time.monotonic()
            done = subprocess.run(["bash", "-c", line], cwd=clone, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            good = done.returncode == 0
            print("ok  " if good else "FAIL", f"{time.monotonic() - start:6.0f} s  {line}", flush=True)
            print("" if good else done.stdout[-4000:], end="", flush=True)
            passed += good
            failed += not good
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
