"""Numbers that PyTorch computes, with which check.cpp compares cairn's: outputs, gradients, and ten training steps."""

import copy

import torch
from torch.utils import _pytree as pytree

from cairn_import.model import WithLoss

STEPS = 10
RULES = {'sgd': lambda p: torch.optim.SGD(p, lr=0.01), 'adamw': lambda p: torch.optim.AdamW(p, lr=1e-3)}


def is_random(model):
    """Returns true if a training step draws random numbers, which cairn draws differently."""
    return model.draws_random or any(getattr(m, name, 0) for m in model.original.modules() if 'drop' in type(m).__name__.lower() or hasattr(m, 'dropout')
               for name in ('p', 'drop_prob', 'dropout') if isinstance(getattr(m, name, 0), (int, float)))


def wide(tensors):
    return pytree.tree_map(lambda t: t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t, tensors)


class Run:
    """A copy of the model and its inputs, in double. A float may round to the other side of a kink, such as that of relu
    at 0, and then a gradient changes by percents. In double, gradients of equal formulas agree."""

    def __init__(self, model):
        module = copy.deepcopy(model.original).double().train()
        self.wrapper = WithLoss(module, model.wrapper.loss, model.wrapper.accepted, lambda names: None)
        self.args, self.kwargs = wide(model.args), wide(model.kwargs)

    def backward(self):
        self.wrapper.zero_grad()
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.double)  # of tensors that the model makes
        try:
            loss = self.wrapper(*self.args, **self.kwargs)[-1]
        finally:
            torch.set_default_dtype(usual)
        loss.backward()
        return loss.item()


def arrays(model, names, notes):
    """All arrays by their kind and name, such as `gradients/fc.weight`: those of the inputs, and what PyTorch computes."""
    given = [t for t in model.kwargs.values() or model.args if isinstance(t, torch.Tensor)]
    out = {f'inputs/{a.bound_name}': t.int() if t.dtype == torch.bool else t for a, t in zip(model.inputs, given)}
    with torch.no_grad():
        module = WithLoss(copy.deepcopy(model.original).eval(), model.wrapper.loss, model.wrapper.accepted,
                          lambda names: None)
        outputs = dict(zip(names, module(*model.args, **model.kwargs)))
    out |= {f'outputs/{name}': tensor for name, tensor in outputs.items() if name != 'loss'}
    if 'loss' not in names or is_random(model):
        return out
    run = Run(model)
    run.backward()
    out |= {f'gradients/{name}': torch.zeros_like(p) if p.grad is None else p.grad
            for name, p in run.wrapper.model.named_parameters() if p.requires_grad}
    return out | {f'losses/{rule}': predictable_losses(model, rule, notes) for rule in RULES}


def losses_of(model, rule, noise):
    """The losses of ten steps from parameters that are changed by this relative noise."""
    run = Run(model)
    trained = [p for p in run.wrapper.parameters() if p.requires_grad]
    with torch.no_grad():
        for p in trained:
            p.mul_(1 + noise * torch.randn_like(p))
    optimizer, out = RULES[rule](trained), []
    for _ in range(STEPS):
        out.append(run.backward())
        optimizer.step()
    return torch.tensor(out, dtype=torch.double)


def predictable_losses(model, rule, notes):
    """The losses of as many steps as PyTorch itself can repeat: some models amplify a rounding error in each step, until
    their losses differ by percents."""
    losses = losses_of(model, rule, 0)
    same = (losses - losses_of(model, rule, 1e-13)).abs() <= 1e-5 * losses.abs()
    count = STEPS if bool(same.all()) else int((~same).nonzero()[0])
    if count < STEPS:
        notes.append(f'check.cpp compares {count} steps of {rule}: in step {count + 1}, the loss of PyTorch changes by more '
                     'than 1e-5 of itself if the parameters change by 1e-13 of themselves')
    return losses[:count]
