import torch
from peer import ckpt, compiled, serve, tensor, threads
from tensors import tensors
from torch.nn.functional import gelu, linear
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name), requires_grad=True) for name in tensors if name != "x"}
x = torch.tensor(tensor("x"))


def block(x, i):
    def layer(x, name):
        return linear(x, parameters[f"block.{i}.{name}.weight"], parameters[f"block.{i}.{name}.bias"])
    return x + layer(gelu(layer(x, "fc1")), "fc2")


def loss_of(x):
    for i in range(8):
        x = checkpoint(block, x, i, use_reentrant=False) if ckpt else block(x, i)
    return x.square().mean()


if compiled:
    loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)


def step():
    for p in parameters.values():
        p.grad = None
    loss = loss_of(x)
    loss.backward()
    return loss.item()


serve(step)
