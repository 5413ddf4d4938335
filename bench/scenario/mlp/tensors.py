"""A batch of 128 rows, layers 784-512-512-10, cross entropy, Adam; ckpt: each hidden layer is a segment."""

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {
    "images": (1, 128, 784),
    "fc1.weight": (784**-0.5, 512, 784),
    "fc1.bias": (784**-0.5, 512),
    "fc2.weight": (512**-0.5, 512, 512),
    "fc2.bias": (512**-0.5, 512),
    "head.weight": (512**-0.5, 10, 512),
    "head.bias": (512**-0.5, 10),
}
# For the labels: the number of classes, then the extents.
labels = {"classes": (10, 128)}
