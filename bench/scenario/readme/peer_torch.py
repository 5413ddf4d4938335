import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import tensors
from torch.nn.functional import cross_entropy, gelu, linear
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name), requires_grad=True) for name in tensors if name != "images"}
images, classes = torch.tensor(tensor("images")), torch.tensor(tensor("classes")).long()


def layer(x, name):
    return linear(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def block(x, i):
    return x + layer(gelu(layer(x, f"block.{i}.fc1")), f"block.{i}.fc2")


def loss_of(images, classes):
    x = layer(images, "embed")
    for i in range(8):
        x = checkpoint(block, x, i, use_reentrant=False) if ckpt else block(x, i)
    return cross_entropy(layer(x, "head"), classes)


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-5, fused=True)
train(loss_of, optimizer, images, classes)
