import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import batch, blocks, labels, tensors, time, vocabulary, width
from torch.nn.functional import cross_entropy, embedding, gelu, layer_norm, linear, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name), requires_grad=True) for name in tensors}
tokens, following = (torch.tensor(tensor(name)).long().reshape(batch, time) for name in labels)
heads = 8


def layer(x, name):
    return linear(x, parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def norm(x, name):
    return layer_norm(x, (width,), parameters[f"{name}.weight"], parameters[f"{name}.bias"])


def attention(x, name):
    projected = linear(x, parameters[f"{name}.in_proj_weight"], parameters[f"{name}.in_proj_bias"])
    q, k, v = (y.view(batch, time, heads, -1).transpose(1, 2) for y in projected.chunk(3, -1))
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
    return layer(mixed.transpose(1, 2).reshape(batch, time, width), f"{name}.out_proj")


def block(x, i):
    x = x + attention(norm(x, f"block.{i}.ln_1"), f"block.{i}.attn")
    return x + layer(gelu(layer(norm(x, f"block.{i}.ln_2"), f"block.{i}.fc1")), f"block.{i}.fc2")


def loss_of(tokens, following):
    x = embedding(tokens, parameters["wte.weight"]) + parameters["wpe.weight"]
    for i in range(blocks):
        x = checkpoint(block, x, i, use_reentrant=False) if ckpt else block(x, i)
    logits = linear(norm(x, "ln_f"), parameters["wte.weight"])
    return cross_entropy(logits.reshape(-1, vocabulary), following.reshape(-1))


optimizer = torch.optim.AdamW(parameters.values(), lr=3e-4, fused=True)
train(loss_of, optimizer, tokens, following)
