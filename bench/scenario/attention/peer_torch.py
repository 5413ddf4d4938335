import torch
from peer import form, serve, tensor, threads
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(threads)
sight, length = form.split("-")
leaves = [torch.tensor(tensor(name)[None, :int(length)], requires_grad=True) for name in "qkv"]


def step():
    for leaf in leaves:
        leaf.grad = None
    q, k, v = (leaf.transpose(1, 2) for leaf in leaves)
    loss = scaled_dot_product_attention(q, k, v, is_causal=sight == "causal").square().mean()
    loss.backward()
    return loss.item()


serve(step, sum(leaf.nbytes for leaf in leaves))
