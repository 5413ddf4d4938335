"""What PyTorch's peers share: a step of an optimizer, perhaps compiled."""

import torch
from peer import compiled, serve


def train(loss_of, optimizer, *batch):
    """Serves steps of loss_of(*batch)."""
    if compiled:
        loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)

    def step():
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    serve(step)
