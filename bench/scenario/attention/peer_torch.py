import torch
from peer import form, rounded, serve, tensor, threads
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(threads)
sight, length = form.removeprefix("bf16-").split("-")
leaves = [torch.tensor(tensor(name)[None, :int(length)], requires_grad=True) for name in "qkv"]


@torch.autocast("cpu", dtype=torch.bfloat16, enabled=rounded)
def loss_of(leaves):
    q, k, v = (leaf.transpose(1, 2) for leaf in leaves)
    return scaled_dot_product_attention(q, k, v, is_causal=sight == "causal").square().mean()


def step():
    for leaf in leaves:
        leaf.grad = None
    loss = loss_of(leaves)
    loss.backward()
    return loss.item()


serve(step, sum(leaf.nbytes for leaf in leaves))
