#!/usr/bin/env -S python3 -B
"""Makes it possible to import the package index's PyTorch without CUDA. PyTorch links CUDA's libraries, which take
gigabytes.

without_cuda.py FOLDER: puts one small library into the folder, in the place of all of CUDA's libraries. Each of its
functions returns cudaErrorNoDevice, so PyTorch finds no device. Code that runs on the CPU does not change.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

cuda = r"lib(?:cu|nccl|nv)\S+"
stand_in = "no_cuda.so"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wanted(folder):
    """Returns CUDA's libraries that PyTorch links, and the versions and functions of CUDA that PyTorch names."""
    libraries = [path for path in folder.glob("*.so*") if not path.is_symlink() and path.name != stand_in]
    names, versions, functions = set(), set(), set()
    for library in libraries:
        about = output("readelf", "-dVW", library)
        names |= set(re.findall(rf"NEEDED.*\[({cuda})\]", about))
        for need in about.split("  File: ")[1:]:
            if re.match(cuda, need):
                versions |= set(re.findall(r"Name: (\S+)", need))
    for library in libraries:
        for symbol in re.findall(r" [Uw] (\S+)", output("nm", "-D", library)):
            name, _, version = symbol.partition("@")
            if version in versions or (not version and re.match(r"_*(cu|nccl|nv)", name)):
                functions.add(name)
    return names, versions, functions


def main(folder):
    names, versions, functions = wanted(folder)
    with tempfile.TemporaryDirectory() as build:
        source, script = Path(build, "none.c"), Path(build, "none.map")
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(functions)))
        script.write_text("".join(f"{version} {{ }};\n" for version in sorted(versions)))
        subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,--version-script={script}", source,
                        "-o", folder / stand_in], check=True)
    for name in names:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(stand_in)
    print(f"{len(functions)} functions of {len(names)} libraries stand in for CUDA")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
