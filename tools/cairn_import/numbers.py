"""Numbers that PyTorch computes, with which check.cpp compares cairn's: outputs, gradients, and ten training steps."""

import copy
import os

import numpy
import torch

from cairn_import.model import WithLoss

STEPS = 10
RULES = {'sgd': lambda p: torch.optim.SGD(p, lr=0.01), 'adamw': lambda p: torch.optim.AdamW(p, lr=1e-3)}


def is_random(module):
    """Returns true if a training step draws random numbers, which cairn draws differently."""
    return any(getattr(m, name, 0) for m in module.modules() if 'drop' in type(m).__name__.lower() or hasattr(m, 'dropout')
               for name in ('p', 'drop_prob', 'dropout') if isinstance(getattr(m, name, 0), (int, float)))


def copied(model):
    return WithLoss(copy.deepcopy(model.original), model.wrapper.loss, model.wrapper.accepted, lambda names: None)


def arrays(model, names):
    """All arrays by the name of their file: those of the inputs, and what PyTorch computes."""
    out = {}
    given = model.kwargs.values() if model.kwargs else model.args
    for array, example in zip(model.inputs, [t for t in given if isinstance(t, torch.Tensor)]):
        out[array.name] = example

    def outputs(wrapper):
        with torch.no_grad():
            return wrapper.eval()(*model.args, **model.kwargs)

    wrapper = copied(model)
    out |= dict(zip(names, outputs(wrapper)))
    if model.wrapper.loss is None or is_random(model.original):
        return out
    wrapper.train()
    loss = wrapper(*model.args, **model.kwargs)[-1]
    loss.backward()
    trained = dict(wrapper.model.named_parameters())
    out |= {f'gradients/{name}': p.grad if p.grad is not None else torch.zeros_like(p)
            for name, p in trained.items() if p.requires_grad}
    for rule, optimizer_of in RULES.items():
        wrapper = copied(model).train()
        optimizer = optimizer_of([p for p in wrapper.parameters() if p.requires_grad])
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = wrapper(*model.args, **model.kwargs)[-1]
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[f'losses_{rule}'] = torch.tensor(losses)
    return out


def save(folder, named):
    for name, tensor in named.items():
        path = os.path.join(folder, name + '.npy')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        tensor = tensor.detach()
        numpy.save(path, (tensor if tensor.dtype != torch.bool else tensor.int()).numpy())
