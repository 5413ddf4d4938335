import jax
import jax.numpy as jnp
from peer import ckpt, form, serve, tensor
from training_jax import as_computed

sight, length = form.removeprefix("bf16-").removesuffix("-ckpt").split("-")
leaves = [jnp.asarray(tensor(name)[None, :int(length)]) for name in "qkv"]


def attend(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=sight == "causal")


@jax.jit
def value_and_grad(*leaves):
    def loss_of(*leaves):
        y = (jax.checkpoint(attend) if ckpt else attend)(*as_computed(leaves))
        return jnp.square(y.astype(jnp.float32)).mean()
    return jax.value_and_grad(loss_of, (0, 1, 2))(*leaves)


def step():
    return jax.block_until_ready(value_and_grad(*leaves))[0]


serve(step, sum(leaf.nbytes for leaf in leaves))
