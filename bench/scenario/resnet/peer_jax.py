import jax
import jax.numpy as jnp
from peer import ckpt, tensor
from training_jax import train
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
    scores = jax.nn.log_softmax((x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"]).astype(jnp.float32))
    return -jnp.take_along_axis(scores, classes[:, None], axis=1).mean()


train(loss_of, parameters, images, classes)
