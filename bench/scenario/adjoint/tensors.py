"""Burgers' equation on a circle of 1024 points in double, 2000 steps. The gradient of the sum of squares at the end,
with respect to the first state and the diffusivity. plain: all steps are stored; two_level: every 50th state and the
states of one period are stored; revolve: 30 states are stored, in JAX by the loop of equinox.
"""

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {"u0": (1, 1024)}
labels = {}
contestants = [("cairn", "plain"), ("cairn", "two_level"), ("cairn", "revolve"), ("jax", "plain"), ("jax", "two_level"),
               ("jax", "revolve"), ("adolc", "plain"), ("cppad", "plain")]
threads = (1,)
# The reported number is the loss plus the slope along the parameters, as a double.
tolerances = (1e-10, 1e-10)
