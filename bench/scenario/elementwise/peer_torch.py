import torch
from peer import ckpt, compiled, serve, tensor, threads
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
x = torch.tensor(tensor("x"), requires_grad=True)


def chain(x):
    root = (torch.tanh(x * 0.5 + 0.1).square() + 1).sqrt()
    return torch.exp(torch.relu(torch.sigmoid(root * x) - 0.6)).square()


def loss_of(x):
    return (checkpoint(chain, x, use_reentrant=False) if ckpt else chain(x)).mean()


if compiled:
    loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)


def step():
    x.grad = None
    loss = loss_of(x)
    loss.backward()
    return loss.item()


serve(step)
