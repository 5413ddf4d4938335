import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
from tensors import tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name not in ("images", "wanted")}
images, wanted = jnp.asarray(tensor("images")), jnp.asarray(tensor("wanted"))
layout = ("NHWC", "OIHW", "NHWC")


def both(p, x, name):
    for i in (1, 2):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.conv{i}.weight"], (1, 1), "SAME", dimension_numbers=layout)
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.bn{i}.weight"] + p[f"{name}.bn{i}.bias"]
        x = jax.nn.relu(x)
    return x


def pair(p, x, name):
    one = lambda p, x: both(p, x, name)  # noqa: E731
    return (jax.checkpoint(one) if ckpt else one)(p, x)


def pooled(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def joined(p, x, beside, i):
    weight = p[f"up{i}.weight"]  # {in, out, 2, 2}: each pixel becomes four
    x = jnp.einsum("nhwc,coij->nhiwjo", x, weight).reshape(*beside.shape) + p[f"up{i}.bias"]
    return pair(p, jnp.concatenate((x, beside), -1), f"join{i}")


def loss_of(p, images, wanted):
    whole = pair(p, images, "down1")
    half = pair(p, pooled(whole), "down2")
    x = pair(p, pooled(half), "bottom")
    x = joined(p, joined(p, x, half, 2), whole, 1)
    x = jax.lax.conv_general_dilated(x, p["out.weight"], (1, 1), "SAME", dimension_numbers=layout) + p["out.bias"]
    return ((x - wanted).astype(jnp.float32) ** 2).mean()


train(loss_of, parameters, images, wanted)
