import jax
import jax.numpy as jnp
from peer import ckpt, serve, tensor
from tensors import tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name != "images"}
images, classes = jnp.asarray(tensor("images")), jnp.asarray(tensor("classes"))


def normalized(p, x, conv, norm, stride=1):
    weight = p[f"{conv}.weight"]
    around = weight.shape[-1] // 2
    x = jax.lax.conv_general_dilated(x, weight, (stride, stride), [(around, around)] * 2,
                                     dimension_numbers=("NHWC", "OIHW", "NHWC"))
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{norm}.weight"] + p[f"{norm}.bias"]


def block(p, x, name):
    narrow = f"{name}.downsample.0.weight" in p
    y = jax.nn.relu(normalized(p, x, f"{name}.conv1", f"{name}.bn1", 1 + narrow))
    y = normalized(p, y, f"{name}.conv2", f"{name}.bn2")
    return jax.nn.relu(y + (normalized(p, x, f"{name}.downsample.0", f"{name}.downsample.1", 2) if narrow else x))


def loss_of(p, images, classes):
    x = jax.nn.relu(normalized(p, images, "conv1", "bn1"))
    for stage in (1, 2, 3, 4):
        for i in (0, 1):
            one = lambda p, x, name=f"layer{stage}.{i}": block(p, x, name)  # noqa: E731
            x = (jax.checkpoint(one) if ckpt else one)(p, x)
    scores = jax.nn.log_softmax(x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"])
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


def adamw(p, mean, square, count, images, classes):
    loss, g = jax.value_and_grad(loss_of)(p, images, classes)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, g)
    m, s = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)
    p = jax.tree.map(lambda p, mean, square: p * (1 - 1e-5) - 1e-3 * (mean * m) / (jnp.sqrt(square * s) + 1e-8), p,
                     mean, square)
    return p, mean, square, count + 1, loss


adamw = jax.jit(adamw, donate_argnums=(0, 1, 2, 3))
state = [parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters), jnp.float32(1)]


def step():
    *state[:], loss = adamw(*state, images, classes)
    return jax.block_until_ready((state, loss))[1]


serve(step, sum(p.nbytes for p in parameters.values()))
