import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import tensors
from torch.nn.functional import cross_entropy, linear, relu
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name), requires_grad=True) for name in tensors if name != "images"}
images, classes = torch.tensor(tensor("images")), torch.tensor(tensor("classes")).long()


def layer(x, name):
    return linear(x, parameters[name + ".weight"], parameters[name + ".bias"])


def hidden(x, name):
    return relu(layer(x, name))


def loss_of(images, classes):
    x = images
    for name in ("fc1", "fc2"):
        x = checkpoint(hidden, x, name, use_reentrant=False) if ckpt else hidden(x, name)
    return cross_entropy(layer(x, "head"), classes)


optimizer = torch.optim.Adam(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, images, classes)
