import torch
from peer import ckpt, tensor, threads
from training_torch import train
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


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, x)
