#!/usr/bin/env -S python3 -B
"""stored.py: prints the bytes that nine models store from the forward to the backward pass, without ckpt.

Two other figures stand next to the bytes that cairn stores. "least" is a minimum cut of cairn's own graph. In this cut,
elementwise operations, maps and views may be recomputed, and results of kernels may not. Leaves, constants and outputs
cost nothing, because they are there in any case. "torch" is what PyTorch's partitioner saves for the same model,
without parameters and inputs (min_cut_rematerialization_partition, with the decompositions of torch.compile).
`./dev bench peers` installs the peers.
"""
import os
import subprocess
import sys

from scenario import bench, build, compile_program, python

if not python.exists():
    sys.exit("bench/stored.py needs the peers: ./dev bench peers")
if not sys.prefix.startswith(str(python.parents[1])):
    os.execv(python, [python, "-B", *sys.argv])

import networkx
import torch
from torch._functorch.aot_autograd import aot_function, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from torch.nn.functional import cross_entropy, gelu


# cairn, and the minimum cut of its graph.


def read(text):
    """Yields for each model its name, its stored bytes, the bytes of its arena, and its values. A value has its sort,
    whether the backward pass reads it, its bytes, and its arguments."""
    for model in text.split("model ")[1:]:
        first, *lines = model.splitlines()
        name, stored, peak = first.rsplit(" ", 2)
        rows = [line.split() for line in lines]
        yield name, int(stored), int(peak), [(what, wanted == "1", int(size), [int(a) for a in arguments])
                                             for _, what, wanted, size, *arguments in rows]


def least(values):
    """Returns the bytes of a minimum cut between the values that cannot be recomputed and the values that the backward
    pass reads. A value is stored if the cut contains the edge from its `in` to its `out`."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for v, (what, wanted, size, arguments) in enumerate(values):
        if what == "free":
            continue
        graph.add_edge(("in", v), ("out", v), **({} if what == "view" else {"capacity": size}))
        if what == "kernel":
            graph.add_edge("source", ("in", v))
        for a in arguments:
            if what != "kernel" and values[a][0] != "free":
                graph.add_edge(("out", a), ("in", v))
        if wanted:
            graph.add_edge(("out", v), "sink")
    return networkx.minimum_cut_value(graph, "source", "sink")


# The same models in PyTorch. A parameter is made when it is first used.


class parameters(dict):
    def __call__(self, name, *extents):
        if name not in self:
            self[name] = torch.randn(*extents)
        return self[name]


def linear(x, p, name, out):
    return x @ p(name + ".weight", out, x.shape[-1]).t() + p(name + ".bias", out)


def readme(x, p):
    x = linear(x, p, "embed", 256)
    for i in range(8):
        x = x + linear(gelu(linear(x, p, f"{i}.fc1", 1024)), p, f"{i}.fc2", 256)
    return x


def mlp(x, p):
    x = torch.tanh(linear(gelu(linear(x, p, "1", 128)), p, "2", 128))
    return gelu(linear(x, p, "3", 64))


def chain(x, p):
    for i in range(3):
        x = linear(x, p, f"{i}.in", 64)
        y = torch.tanh(x) * p(f"{i}.a", 64) + torch.sigmoid(x * p(f"{i}.b", 64))
        x = torch.exp(-y) * y + torch.sqrt(y.square() + 1) / (1 + x.square())
    return x


def attention(x, p):
    x = linear(x, p, "in", 64).reshape(4, 32, 64)
    for i in range(2):
        q, k, v = (linear(x, p, f"{i}.{name}", 64).reshape(4, 32, 4, 16).transpose(1, 2) for name in "qkv")
        y = torch.softmax(q @ k.transpose(2, 3) * 0.25, -1) @ v
        x = x + linear(y.transpose(1, 2).reshape(4, 32, 64), p, f"{i}.out", 64)
    return x.reshape(128, 64)


def lstm(x, p):
    h, c = torch.zeros(128, 64), torch.zeros(128, 64)
    for t in range(4):
        z = x[:, 16 * t:16 * t + 16] @ p("x", 16, 256) + h @ p("h", 64, 256) + p("bias", 256)
        i, f, g, o = z.split(64, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def normed(x, p):
    for i in range(3):
        x = linear(x, p, f"{i}.in", 64)
        x = x - x.mean(0)
        x = torch.relu(x / torch.sqrt(x.square().mean(0) + 1e-5) * p(f"{i}.scale", 64) + p(f"{i}.shift", 64))
    return x


def residual(x, p):
    for i in range(3):
        y = linear(x, p, f"{i}.fc1", 256)
        x = x + linear(y * torch.sigmoid(y), p, f"{i}.fc2", 64)
    return x


def pre_norm(x, p):
    x = linear(x, p, "in", 64)
    for i in range(3):
        y = x - x.mean(-1, keepdim=True)
        y = y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5) * p(f"{i}.scale", 64) + p(f"{i}.shift", 64)
        x = x + linear(gelu(linear(y, p, f"{i}.fc1", 256)), p, f"{i}.fc2", 64)
    return x


def dense(x, p):
    for i in range(4):
        x = torch.cat([x, torch.relu(linear(x, p, f"{i}.fc", 32))], -1)
    return x


def root(node):
    """Returns the value that a view shows."""
    views = ("view", "permute", "transpose", "t", "expand", "slice", "select", "squeeze", "unsqueeze", "reshape")
    while node.op == "call_function" and node.target.__name__.split(".")[0] in views:
        node = node.args[0]
    return node


def partitioned(loss, inputs, values):
    """Differentiates a loss by `values`. Returns the bytes of each activation that PyTorch's partitioner saves, by
    name, and the graph of the backward pass."""
    saved, backward = [], []

    def partition(joint, arguments, *, num_fwd_outputs, **more):
        parts = min_cut_rematerialization_partition(joint, arguments, num_fwd_outputs=num_fwd_outputs, **more)
        results = next(n for n in parts[0].graph.nodes if n.op == "output").args[0]
        saved.extend(n for n in results[num_fwd_outputs:] if n not in results[:num_fwd_outputs])
        backward.append(parts[1].graph)
        return parts

    keep = lambda module, _: make_boxed_func(module)
    values = [value.clone().requires_grad_() for value in values]
    aot_function(loss, keep, keep, partition, decompositions=select_decomp_table())(*inputs, *values).backward()
    return {root(n).name: n.meta["val"].nbytes for n in saved if root(n).op != "placeholder"}, backward[0]


def partitioned_by_torch(model, width):
    """Differentiates a model's loss by its parameters. Returns the saved bytes, and the graph of the backward pass."""
    p, x, y = parameters(), torch.randn(128, width), torch.randint(10, (128,))
    model_loss = lambda x, y, *_: cross_entropy(linear(model(x, p), p, "head", 10), y)
    model_loss(x, y)
    names = list(p)

    def loss(x, y, *values):
        p.update(zip(names, values))
        return model_loss(x, y)

    saved, backward = partitioned(loss, (x, y), [p[name] for name in names])
    return sum(saved.values()), backward


models = [readme, mlp, chain, attention, lstm, normed, residual, pre_norm, dense]

if __name__ == "__main__":
    compile_program(bench / "stored.cpp", build / "stored", "-O0")
    text = subprocess.run([build / "stored"], check=True, text=True, capture_output=True).stdout
    print(f"{'KiB':20}{'cairn':>10}{'least':>10}{'torch':>10}{'to least':>10}{'to torch':>10}{'arena':>10}")
    for (name, stored, peak, values), model in zip(read(text), models):
        (torch_saves, _), bound = partitioned_by_torch(model, 784 if model is readme else 64), least(values)
        print(f"{name:20}{stored / 1024:10.1f}{bound / 1024:10.1f}{torch_saves / 1024:10.1f}{stored / bound:10.3f}"
              f"{stored / torch_saves:10.3f}{peak / 1024:10.1f}", flush=True)
