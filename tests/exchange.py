#!/usr/bin/env -S python3 -B
"""What cairn writes, PyTorch's package safetensors reads, and the reverse, bit for bit: exchange.py [keep]

It needs the packages torch, numpy and safetensors: ./dev bench peers installs them, in build/peers/bin/python.
keep     writes the files of tests/kept that tests/run/safetensors.cpp reads, which need no Python
"""

import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

top = Path(__file__).resolve().parents[1]
kept = top / "tests/kept"
files = 200
types = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]
again = """#include "cairn/file/safetensors.hpp"
int main(int, char** arguments) {
  const cairn::file::reader saved(arguments[1]);
  cairn::file::write(arguments[2], saved.tensors(), saved.metadata());
}
"""


def bits(tensor):
    return tensor.dtype, tuple(tensor.shape), tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def loaded(path):
    with safe_open(path, "pt") as file:
        return {name: bits(file.get_tensor(name)) for name in file.keys()}, file.metadata()


def random_tensor(draw):
    """Any bits, so also nan, infinities and what is below the smallest normal number; but bool has two values."""
    type_, shape = draw.choice(types), [draw.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(draw.randint(0, 4))]
    count = math.prod(shape) * torch.empty(0, dtype=type_).element_size()
    data = torch.tensor(list(draw.randbytes(count)), dtype=torch.uint8)
    return (data % 2 if type_ == torch.bool else data).view(type_).reshape(shape)


def random_text(draw):
    return "".join(draw.choice('ab.01_"\\/\n\t\x01\x7fé€𝄞') for _ in range(draw.randint(0, 12)))


def compare(folder, seed):
    """What is different in a file of this seed that goes through cairn, or nothing."""
    draw = random.Random(seed)
    tensors = {f"{random_text(draw)}{i}": random_tensor(draw) for i in range(draw.randint(0, 9))}
    texts = {f"{random_text(draw)}{i}": random_text(draw) for i in range(draw.randint(0, 3))}
    theirs, ours = folder / "theirs", folder / "ours"
    save_file(tensors, theirs, texts or None)
    subprocess.run([folder / "again", theirs, ours], check=True)
    wanted = {name: bits(tensor) for name, tensor in tensors.items()}, texts or None
    if loaded(theirs) != wanted:
        return "PyTorch does not read what it wrote"
    if loaded(ours) != wanted:
        return "PyTorch reads something else in ours"
    # Of several texts, PyTorch's package draws the order.
    return "" if len(texts) > 1 or ours.read_bytes() == theirs.read_bytes() else "the bytes differ"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ["g++", "-std=c++20", "-O1", f"-I{top}/include", "-x", "c++", "-", "-o", folder / "again"]
        subprocess.run(command, input=again, text=True, check=True)
        faults = {seed: fault for seed in range(files) if (fault := compare(folder, seed))}
    for seed, fault in faults.items():
        print(f"FAIL seed {seed}: {fault}")
    print(f"{files - len(faults)} passed, {len(faults)} failed")
    sys.exit(bool(faults))


def keep():
    """The numbers are those that the test names. What is rounded to bf16 lies between two, on either side of the middle
    or there, or is no number that bf16 has."""
    near = [1 + i / 1024 for i in range(9)] + [-3.1, 1 / 3, 1e-40, -1e-45, 65504.0, 3.4e38, math.inf, -math.inf, math.nan]
    rounded = torch.tensor(near, dtype=torch.float32)
    save_file({
        "fc1.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) * 0.375 - 1,
        "fc1.bias": torch.tensor([0.1, -1e300, 5e-324], dtype=torch.float64),
        "norm.num_batches_tracked": torch.tensor(2**40 + 1),
        "index": torch.tensor([[1, -2], [2**31 - 1, -2**31]], dtype=torch.int32),
        "exact": rounded,
        "rounded": rounded.bfloat16(),
        "mask": torch.tensor([True, False, True]),
        "none": torch.zeros((0, 4), dtype=torch.uint8),
    }, kept / "torch.safetensors", {"format": "pt"})
    texts = {"a \"quoted\" name": "line\nline\ttab \\ \x01\x7f", "z": "", "é€": "𝄞"}
    order = [text.encode() for text in ('{"a', ',"z"', ',"é')]
    while True:  # the package draws the order of the texts
        save_file({'"\\/': torch.tensor([1.0]), "é\n": torch.tensor([2.0])}, kept / "names.safetensors", texts)
        places = [(kept / "names.safetensors").read_bytes().find(text) for text in order]
        if -1 not in places and places == sorted(places):
            break
    for name in ("torch", "names"):
        (kept / f"{name}.safetensors").chmod(0o644)


if __name__ == "__main__":
    keep() if sys.argv[1:] == ["keep"] else main()
