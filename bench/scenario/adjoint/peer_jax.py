import equinox.internal
import jax
import jax.numpy as jnp
from peer import form, serve, tensor

jax.config.update("jax_enable_x64", True)
steps, period, speed = 2000, 50, 0.005
u0, nu = jnp.asarray(tensor("u0"), jnp.float64), jnp.asarray(0.01)


def ahead(count, step):
    return lambda u, nu: jax.lax.scan(lambda u, _: (step(u, nu), None), u, length=count)[0]


def step(u, nu):
    left, right = jnp.roll(u, 1), jnp.roll(u, -1)
    return u - u * (right - left) * speed + (right + left - u * 2) * nu


def few_stored(u, nu):
    ahead = equinox.internal.scan
    return ahead(lambda u, _: (step(u, nu), None), u, None, steps, kind="checkpointed", checkpoints=30)[0]


if form == "two_level":
    all_steps = ahead(steps // period, jax.checkpoint(ahead(period, step)))
elif form == "revolve":
    all_steps = few_stored
else:
    all_steps = ahead(steps, step)


@jax.jit
def gradient(u0, nu):
    return jax.value_and_grad(lambda u0, nu: jnp.sum(all_steps(u0, nu) ** 2), (0, 1))(u0, nu)


def measured():
    value, (by_u0, by_nu) = gradient(u0, nu)
    return float(value + by_u0 @ u0 + by_nu * nu)


serve(measured)
