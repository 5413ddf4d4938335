import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
from tensors import tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name != "images"}
images, classes = jnp.asarray(tensor("images")), jnp.asarray(tensor("classes"))


def layer(p, x, name):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def loss_of(p, images, classes):
    x = layer(p, images, "embed")
    for i in range(8):
        def block(p, x, i=i):
            return x + layer(p, jax.nn.gelu(layer(p, x, f"block.{i}.fc1"), approximate=False), f"block.{i}.fc2")
        x = (jax.checkpoint(block) if ckpt else block)(p, x)
    scores = jax.nn.log_softmax(layer(p, x, "head").astype(jnp.float32))
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


train(loss_of, parameters, images, classes, rate=1e-5)
