import jax
import jax.numpy as jnp
from peer import ckpt, serve, tensor
from tensors import tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name != "images"}
images, classes = jnp.asarray(tensor("images")), jnp.asarray(tensor("classes"))


def layer(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def loss_of(p, images, classes):
    x = images
    for name in ("fc1", "fc2"):
        hidden = lambda p, x, name=name: jax.nn.relu(layer(p, name, x))  # noqa: E731
        x = (jax.checkpoint(hidden) if ckpt else hidden)(p, x)
    scores = jax.nn.log_softmax(layer(p, "head", x))
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


def adam(p, mean, square, count, images, classes):
    loss, g = jax.value_and_grad(loss_of)(p, images, classes)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, g)
    m, s = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)
    p = jax.tree.map(lambda p, mean, square: p - 1e-3 * (mean * m) / (jnp.sqrt(square * s) + 1e-8), p, mean, square)
    return p, mean, square, count + 1, loss


adam = jax.jit(adam, donate_argnums=(0, 1, 2, 3))
state = [parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters), jnp.float32(1)]


def step():
    *state[:], loss = adam(*state, images, classes)
    return jax.block_until_ready((state, loss))[1]


serve(step, sum(p.nbytes for p in parameters.values()))
