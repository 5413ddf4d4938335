#!/usr/bin/env -S python3 -B
"""Prints the errors of PyTorch's sums, for the rows of sums.cpp: build/peers/bin/python bench/sums_torch.py"""

import torch
from torch.nn.functional import cross_entropy

torch.set_num_threads(1)
counts = (10, 1000, 100_000, 1_000_000, 10_000_000)


def error(found, terms, axes):
    """Returns the error of a sum of these terms, relative to the sum of their absolute values."""
    exact, size = terms.double().sum(axes), terms.double().abs().sum(axes)
    return ((found.double() - exact).abs() / size).max().item()


def of_linear(x, gradient):
    layer = torch.nn.Linear(1, 2)
    (layer(torch.ones(len(x), 1)) * x).sum().backward()
    return error(gradient(layer), x, 0)


def of_convolution(x, gradient):
    layer = torch.nn.Conv2d(1, 2, 1).to(memory_format=torch.channels_last)
    ones = torch.ones(1, 1, len(x) // 5, 5).to(memory_format=torch.channels_last)
    (layer(ones) * x.reshape(1, -1, 5, 2).permute(0, 3, 1, 2)).sum().backward()
    return error(gradient(layer), x, 0)


def of_gather(x):
    table = torch.nn.Embedding(4, 2)
    (table(torch.ones(len(x), dtype=torch.long)) * x).sum().backward()
    return error(table.weight.grad[1], x, 0)


def of_loss(x):
    classes = torch.zeros(len(x), dtype=torch.long)
    exact = cross_entropy(x.double(), classes)
    return ((cross_entropy(x, classes).double() - exact).abs() / exact).item()


rows = {
    "sum<0>": lambda x: error(x.sum(0), x, 0),
    "sum": lambda x: error(x.sum(), x, (0, 1)),
    "sum<-1>": lambda x: error(x[:, 0].contiguous()[None].sum(-1), x[:, :1], 0),
    "sum<0, 1>": lambda x: error(x.reshape(-1, 5, 2).sum((0, 1)), x, 0),
    "sum<0, 2>": lambda x: error(x.reshape(-1, 2, 5).sum((0, 2)), x.reshape(-1, 2, 5), (0, 2)),
    "linear bias": lambda x: of_linear(x, lambda layer: layer.bias.grad),
    "linear weight": lambda x: of_linear(x, lambda layer: layer.weight.grad[:, 0]),
    "conv bias": lambda x: of_convolution(x, lambda layer: layer.bias.grad),
    "conv weight": lambda x: of_convolution(x, lambda layer: layer.weight.grad.flatten()),
    "gather": of_gather,
    "cross_entropy": of_loss,
}
for name, terms in (("constant 0.1", lambda n: torch.full((n, 2), 0.1)),
                    ("random in [-1, 1)", lambda n: torch.rand(n, 2) * 2 - 1),
                    ("1000 and random", lambda n: 1000 + torch.rand(n, 2) * 2 - 1)):
    print(name)
    for of, error_of in rows.items():
        torch.manual_seed(1)
        print(f"  {of:<18}", *(f"{error_of(terms(n)):9.1e}" for n in counts))
