"""A block of 12 densely connected layers, 32 images; ckpt: each layer is a segment that reads all earlier results."""

layers, first, growth, wide, side, batch = 12, 48, 24, 96, 28, 32

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {"images": (1, batch, side, side, first)}
for i in range(layers):
    read = first + growth * i
    tensors |= {
        f"layer{i}.norm1.weight": (1, read),
        f"layer{i}.norm1.bias": (1, read),
        f"layer{i}.conv1.weight": (read**-0.5, wide, read, 1, 1),
        f"layer{i}.norm2.weight": (1, wide),
        f"layer{i}.norm2.bias": (1, wide),
        f"layer{i}.conv2.weight": ((9 * wide) ** -0.5, growth, wide, 3, 3),
    }
made = first + growth * layers
tensors |= {"norm.weight": (1, made), "norm.bias": (1, made), "head.weight": (made**-0.5, 10, made),
            "head.bias": (made**-0.5, 10)}
# For the labels: the number of classes, then the extents.
labels = {"classes": (10, batch)}
