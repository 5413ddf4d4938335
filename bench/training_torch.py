"""The part that PyTorch's peers share: a training step with an optimizer. The step can be compiled, can use mixed
precision, and can have its optimizer in the backward pass."""

import inspect

import torch
from peer import compiled, hooks, percent, rounded, serve, solver
from torch._functorch import config


def in_backward(optimizer):
    """Gives each parameter an optimizer of its own, which steps as soon as the gradient is complete and then frees the
    gradient. This follows PyTorch's tutorial "How to save memory by fusing the optimizer step into the backward pass".
    """
    taken = inspect.signature(type(optimizer)).parameters
    options = {name: value for name, value in optimizer.defaults.items() if name in taken}
    one_each = {p: type(optimizer)([p], **options) for group in optimizer.param_groups for p in group["params"]}

    def step(parameter):
        one_each[parameter].step()
        one_each[parameter].zero_grad()

    for parameter in one_each:
        parameter.register_post_accumulate_grad_hook(step)


def train(loss_of, optimizer, *batch):
    """Serves training steps with the loss loss_of(*batch)."""
    if solver:
        config.activation_memory_budget, config.activation_memory_budget_solver = int(percent) / 100, solver
    if compiled or solver:
        loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)
    if rounded:
        loss_of = torch.autocast("cpu", dtype=torch.bfloat16)(loss_of)
    if hooks:
        in_backward(optimizer)

    def step():
        if hooks:
            loss = loss_of(*batch)
            loss.backward()
            return loss.item()
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    serve(step, 0 if hooks else sum(parameter.nbytes for parameter in trained), live_between=True)
