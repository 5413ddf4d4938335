import torch
from peer import ckpt, compiled, form, rounded, serve, tensor, threads
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
sight, length = form.removeprefix("compile-").removeprefix("bf16-").removesuffix("-ckpt").split("-")
leaves = [torch.tensor(tensor(name)[None, :int(length)], requires_grad=True) for name in "qkv"]


def attend(*leaves):
    q, k, v = (leaf.transpose(1, 2) for leaf in leaves)
    return scaled_dot_product_attention(q, k, v, is_causal=sight == "causal")


def loss_of(*leaves):
    y = checkpoint(attend, *leaves, use_reentrant=False) if ckpt else attend(*leaves)
    return y.square().mean()


if compiled:
    loss_of = torch.compile(loss_of, fullgraph=True, dynamic=False)
if rounded:
    loss_of = torch.autocast("cpu", dtype=torch.bfloat16)(loss_of)


def step():
    for leaf in leaves:
        leaf.grad = None
    loss = loss_of(*leaves)
    loss.backward()
    return loss.item()


serve(step, sum(leaf.nbytes for leaf in leaves))
