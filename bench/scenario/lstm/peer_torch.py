import torch
from peer import ckpt, compiled, serve, tensor, threads
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
x = torch.tensor(tensor("x"), requires_grad=True)
lstm = torch.nn.LSTM(256, 256, batch_first=True)
lstm.load_state_dict({name: torch.tensor(tensor("lstm." + name)) for name in lstm.state_dict()})


def loss_of(x):
    if not ckpt:
        return lstm(x)[0].square().mean()
    states, made = (torch.zeros(1, 32, 256),) * 2, []
    for part in x.split(16, 1):
        ys, states = checkpoint(lstm, part, states, use_reentrant=False)
        made.append(ys)
    return torch.cat(made, 1).square().mean()


if compiled:
    loss_of = torch.compile(loss_of, dynamic=False)
leaves = [x, *lstm.parameters()]


def step():
    for leaf in leaves:
        leaf.grad = None
    loss = loss_of(x)
    loss.backward()
    return loss.item()


serve(step, sum(leaf.nbytes for leaf in leaves))
