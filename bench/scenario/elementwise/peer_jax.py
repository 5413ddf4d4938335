import jax
import jax.numpy as jnp
from peer import ckpt, serve, tensor

x = jnp.asarray(tensor("x"))


def chain(x):
    root = jnp.sqrt(jnp.square(jnp.tanh(x * 0.5 + 0.1)) + 1)
    return jnp.square(jnp.exp(jax.nn.relu(jax.nn.sigmoid(root * x) - 0.6)))


def loss_of(x):
    return (jax.checkpoint(chain) if ckpt else chain)(x).mean()


value_and_grad = jax.jit(jax.value_and_grad(loss_of))


def step():
    return jax.block_until_ready(value_and_grad(x))[0]


serve(step, x.nbytes)
