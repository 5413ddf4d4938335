"""The part that JAX's peers share: AdamW and a loss in one compiled function, which writes over its state, and mixed
precision."""

import jax
import jax.numpy as jnp
from peer import rounded, serve


def as_computed(tree):
    """In a bf16- form, converts floats to bf16. Values computed from them are bf16, too, until the loss takes floats.
    """
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if rounded and x.dtype == jnp.float32 else x, tree)


def train(loss_of, parameters, *batch, weight_decay=0.01, rate=1e-3):
    """Serves training steps with the loss loss_of(parameters, *batch)."""

    def adamw(p, mean, square, count, *batch):
        loss, g = jax.value_and_grad(lambda p: loss_of(as_computed(p), *as_computed(batch)))(p)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, g)
        m, s = 1 / (1 - 0.9**count), 1 / (1 - 0.999**count)

        def updated(p, mean, square):
            return p * (1 - rate * weight_decay) - rate * (mean * m) / (jnp.sqrt(square * s) + 1e-8)

        return jax.tree.map(updated, p, mean, square), mean, square, count + 1, loss

    adamw = jax.jit(adamw, donate_argnums=(0, 1, 2, 3))
    zeros = [jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
    state = [parameters, *zeros, jnp.float32(1)]

    def step():
        *state[:], loss = adamw(*state, *batch)
        return jax.block_until_ready((state, loss))[1]

    serve(step, sum(p.nbytes for p in parameters.values()))
