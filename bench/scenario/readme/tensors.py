"""README's network: 128 rows of 784, 8 blocks x + fc2(gelu(fc1(x))), 256-1024-256, AdamW; ckpt: each block is a
segment."""

tensors = {"images": (1, 128, 784)}


def linear(name, read, made):
    tensors[f"{name}.weight"] = (read**-0.5, made, read)
    tensors[f"{name}.bias"] = (read**-0.5, made)


linear("embed", 784, 256)
for i in range(8):
    linear(f"block.{i}.fc1", 256, 1024)
    linear(f"block.{i}.fc2", 1024, 256)
linear("head", 256, 10)
# For the labels: the number of classes, then the extents.
labels = {"classes": (10, 128)}
