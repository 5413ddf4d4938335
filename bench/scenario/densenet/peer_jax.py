import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
from tensors import layers, tensors

parameters = {name: jnp.asarray(tensor(name)) for name in tensors if name != "images"}
images, classes = jnp.asarray(tensor("images")), jnp.asarray(tensor("classes"))


def normalized(p, x, name):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return jax.nn.relu((x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"])


def conv2d(p, x, name):
    return jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "SAME",
                                        dimension_numbers=("NHWC", "OIHW", "NHWC"))


def layer(p, i, *made):
    x = conv2d(p, normalized(p, jnp.concatenate(made, -1), f"layer{i}.norm1"), f"layer{i}.conv1")
    return conv2d(p, normalized(p, x, f"layer{i}.norm2"), f"layer{i}.conv2")


def loss_of(p, images, classes):
    made = [images]
    for i in range(layers):
        one = lambda p, *made, i=i: layer(p, i, *made)  # noqa: E731
        made.append((jax.checkpoint(one) if ckpt else one)(p, *made))
    x = normalized(p, jnp.concatenate(made, -1), "norm")
    scores = jax.nn.log_softmax((x.mean((1, 2)) @ p["head.weight"].T + p["head.bias"]).astype(jnp.float32))
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


train(loss_of, parameters, images, classes)
