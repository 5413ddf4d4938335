import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
from tensors import batch, blocks, labels, tensors, time, width

parameters = {name: jnp.asarray(tensor(name)) for name in tensors}
tokens, following = (jnp.asarray(tensor(name)).reshape(batch, time) for name in labels)
heads = 8


def layer(p, x, name):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def norm(p, x, name):
    centered = x - x.mean(-1, keepdims=True)
    scaled = centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * p[f"{name}.weight"] + p[f"{name}.bias"]


def attention(p, x, name):
    projected = x @ p[f"{name}.in_proj_weight"].T + p[f"{name}.in_proj_bias"]
    q, k, v = (y.reshape(batch, time, heads, -1) for y in jnp.split(projected, 3, -1))
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return layer(p, mixed.reshape(batch, time, width), f"{name}.out_proj")


def loss_of(p, tokens, following):
    x = p["wte.weight"][tokens] + p["wpe.weight"]
    for i in range(blocks):
        def block(p, x, i=i):
            x = x + attention(p, norm(p, x, f"block.{i}.ln_1"), f"block.{i}.attn")
            hidden = jax.nn.gelu(layer(p, norm(p, x, f"block.{i}.ln_2"), f"block.{i}.fc1"), approximate=False)
            return x + layer(p, hidden, f"block.{i}.fc2")
        x = (jax.checkpoint(block) if ckpt else block)(p, x)
    scores = jax.nn.log_softmax((norm(p, x, "ln_f") @ p["wte.weight"].T).astype(jnp.float32))
    return -jnp.take_along_axis(scores, following[..., None], axis=-1).mean()


train(loss_of, parameters, tokens, following, rate=3e-4)
