"""A batch of 128 images, three convolutions with batch norm, two pools; ckpt: each convolution is a segment."""

channels = (1, 32, 64, 128)

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {"images": (1, 128, 28, 28, 1)}
for i, (wide, wider) in enumerate(zip(channels, channels[1:]), 1):
    tensors |= {
        f"conv{i}.weight": ((9 * wide) ** -0.5, wider, wide, 3, 3),
        f"norm{i}.weight": (1, wider),
        f"norm{i}.bias": (1, wider),
    }
tensors |= {"head.weight": (128**-0.5, 10, 128), "head.bias": (128**-0.5, 10)}
# For the labels: the number of classes, then the extents.
labels = {"classes": (10, 128)}
