import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
from tensors import tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name != "x"}
x = jnp.asarray(tensor("x"))


def loss_of(p, x):
    for i in range(8):
        def block(p, x, i=i):
            def layer(x, name):
                return x @ p[f"block.{i}.{name}.weight"].T + p[f"block.{i}.{name}.bias"]
            return x + layer(jax.nn.gelu(layer(x, "fc1"), approximate=False), "fc2")
        x = (jax.checkpoint(block) if ckpt else block)(p, x)
    return jnp.square(x.astype(jnp.float32)).mean()


train(loss_of, parameters, x)
