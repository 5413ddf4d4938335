import jax
import jax.numpy as jnp
from peer import form, serve, tensor
from training_jax import as_computed

sight, length = form.removeprefix("bf16-").split("-")
leaves = [jnp.asarray(tensor(name)[None, :int(length)]) for name in "qkv"]


@jax.jit
def value_and_grad(*leaves):
    def loss_of(leaves):
        y = jax.nn.dot_product_attention(*as_computed(leaves), is_causal=sight == "causal")
        return jnp.square(y.astype(jnp.float32)).mean()
    return jax.value_and_grad(loss_of)(leaves)


def step():
    return jax.block_until_ready(value_and_grad(*leaves))[0]


serve(step, sum(leaf.nbytes for leaf in leaves))
