#!/usr/bin/env -S python3 -B
"""Counts how often the functions and modules of PyTorch are called in Python sources: usage.py FOLDER...

docs/from-pytorch.md has the counts for torchvision, timm and transformers. Needs the package torch, which knows what is
a method of tensors and what is a module.

A call counts if its name leads to torch, torch.nn, torch.nn.functional or torch.linalg through the imports of the file.
A call of a method counts if tensors have this method, and if str, list, dict, set and Path have no method of this name.
Variants in place count as their function. A module also counts where it is passed on, as in `norm_layer=nn.LayerNorm`.
"""

import ast
import collections
import sys
from pathlib import Path

import torch

functions, modules = collections.Counter(), collections.Counter()
of_others = {name for other in (str, list, dict, set, Path) for name in dir(other)}
methods = {name for name in dir(torch.Tensor) if not name.startswith("_")} - of_others
known_modules = {name for name, found in vars(torch.nn).items()
                 if isinstance(found, type) and issubclass(found, torch.nn.Module)} - {"Module", "DataParallel"}
same = {"concat": "cat", "concatenate": "cat", "clip": "clamp", "greater": "gt", "absolute": "abs", "multiply": "mul",
        "new_zeros": "zeros", "zeros_like": "zeros", "new_ones": "ones", "ones_like": "ones", "new_full": "full",
        "full_like": "full", "rand_like": "rand", "randn_like": "randn", "expand_as": "expand", "broadcast_to": "expand",
        "view": "reshape", "reshape_as": "reshape", "view_as": "reshape", "swapaxes": "transpose", "mm": "matmul",
        "bmm": "matmul", "t": "transpose", "linalg.norm": "norm", "linalg.vector_norm": "norm", "div": "true_divide",
        "take_along_dim": "gather", "movedim": "permute"}
# These functions compute nothing: they ask a tensor, move it, make it without values, or steer PyTorch.
steering = {"to", "size", "contiguous", "float", "half", "double", "long", "int", "bool", "tolist", "item", "numel", "dim",
            "ndimension", "type", "type_as", "cpu", "cuda", "numpy", "clone", "copy_", "device", "dtype", "requires_grad_",
            "no_grad", "enable_grad", "inference_mode", "manual_seed", "Generator", "load", "save", "compile", "finfo",
            "iinfo", "tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor", "empty", "empty_like",
            "new_empty", "new_tensor", "stride", "data_ptr", "element_size", "as_subclass", "resize", "put", "new",
            "get_default_dtype", "set_default_dtype", "get_device_module", "equal", "set_", "is_tensor", "dequantize",
            "register_hook", "share_memory_", "autocast", "map_", "fill_", "zero_", "detach_"}


def full_name(node, names):
    """Returns the full name of a function, such as torch.nn.functional.relu, or None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = full_name(node.value, names)
        return f"{owner}.{node.attr}" if owner else None


def imported(tree):
    """Returns which names of a file are names of torch."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {found.asname or "torch": found.name if found.asname else "torch"
                      for found in node.names if found.name.split(".")[0] == "torch"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            names |= {found.asname or found.name: f"{node.module}.{found.name}" for found in node.names}
    return names


def count(name):
    """Counts a call of a function that computes something."""
    name = name.removeprefix("torch.").removeprefix("nn.functional.")
    if name in steering or name.startswith(("_", "is_", "set_", "get_")):
        return
    if name.count(".") == name.startswith("linalg."):
        functions[same.get(name.rstrip("_"), name.rstrip("_"))] += 1


for folder in sys.argv[1:]:
    for path in sorted(Path(folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = imported(tree)
        for node in ast.walk(tree) if names else ():
            if isinstance(node, (ast.Attribute, ast.Name)):
                name = (full_name(node, names) or "").removeprefix("torch.nn.")
                modules[name] += name in known_modules
            if isinstance(node, ast.Call):
                name = full_name(node.func, names)
                if name:
                    count(name)
                elif isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                    count(node.func.attr)
for title, counted, most in ("functions", functions, 120), ("modules", modules, 60):
    print(title)
    for name, times in counted.most_common(most):
        print(f"{times:6} {name}")
