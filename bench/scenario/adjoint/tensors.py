"""Burgers' equation on a circle of 1024 points in double, 2000 steps: the gradient of the sum of squares in the end
by the first state and the diffusivity. plain: all steps are stored; two_level: every 50th state, and those of a period;
revolve: 30 states; of JAX, by the loop of equinox.
"""

# Uniform in [-bound, bound]: the bound, then the extents.
tensors = {"u0": (1, 1024)}
labels = {}
contestants = [("cairn", "plain"), ("cairn", "two_level"), ("cairn", "revolve"), ("jax", "plain"), ("jax", "two_level"),
               ("jax", "revolve"), ("adolc", "plain"), ("cppad", "plain")]
threads = (1,)
# What is compared is the loss and the slope along the parameters, in a sum, as doubles.
tolerances = (1e-10, 1e-10)
