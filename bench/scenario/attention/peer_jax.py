import jax
import jax.numpy as jnp
from peer import form, serve, tensor

sight, length = form.split("-")
leaves = [jnp.asarray(tensor(name)[None, :int(length)]) for name in "qkv"]


@jax.jit
def value_and_grad(*leaves):
    def loss_of(q, k, v):
        return jnp.square(jax.nn.dot_product_attention(q, k, v, is_causal=sight == "causal")).mean()
    return jax.value_and_grad(loss_of, (0, 1, 2))(*leaves)


def step():
    return jax.block_until_ready(value_and_grad(*leaves))[0]


serve(step, sum(leaf.nbytes for leaf in leaves))
