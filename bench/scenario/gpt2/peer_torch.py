import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import batch, blocks, labels, tensors, time, vocabulary, width
from torch.nn.functional import cross_entropy, embedding, gelu, layer_norm, linear, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name), requires_grad=True) for name in tensors}
text, following = (torch.tensor(tensor(name)).long().reshape(batch, time) for name in labels)
heads = 12


def conv1d(x, name):
    """As in Hugging Face's GPT-2, whose weights are transposed."""
    weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
    return torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight).view(*x.shape[:-1], -1)


def norm(x, name):
    return layer_norm(x, (width,), parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def attention(x, name):
    q, k, v = (y.view(batch, time, heads, -1).transpose(1, 2) for y in conv1d(x, f"{name}.c_attn").split(width, -1))
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
    return conv1d(mixed.transpose(1, 2).reshape(batch, time, width), f"{name}.c_proj")


def block(x, name):
    x = x + attention(norm(x, f"{name}.ln_1"), f"{name}.attn")
    hidden = gelu(conv1d(norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc"), approximate="tanh")
    return x + conv1d(hidden, f"{name}.mlp.c_proj")


def loss_of(text, following):
    x = embedding(text, parameters["wte.weight"]) + parameters["wpe.weight"][:time]
    for i in range(blocks):
        name = f"h.{i}"
        x = checkpoint(block, x, name, use_reentrant=False) if ckpt else block(x, name)
    logits = linear(norm(x, "ln_f"), parameters["wte.weight"])
    return cross_entropy(logits.view(-1, vocabulary), following.view(-1))


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-4, fused=True)
train(loss_of, optimizer, text, following)
