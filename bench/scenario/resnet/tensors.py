"""The four stages of ResNet-18, 32 images of 32 x 32 pixels; ckpt: each block of two convolutions is a segment."""

batch, side, widths = 32, 32, (64, 128, 256, 512)

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {"images": (1, batch, side, side, 3)}


def convolution(name, norm, made, read, extent):
    tensors[f"{name}.weight"] = ((read * extent**2) ** -0.5, made, read, extent, extent)
    tensors[f"{norm}.weight"] = tensors[f"{norm}.bias"] = (1, made)


convolution("conv1", "bn1", 64, 3, 3)
for stage, made in enumerate(widths, 1):
    for block in (0, 1):
        name, read = f"layer{stage}.{block}", widths[max(stage - 2, 0)] if block == 0 else made
        convolution(f"{name}.conv1", f"{name}.bn1", made, read, 3)
        convolution(f"{name}.conv2", f"{name}.bn2", made, made, 3)
        if made != read:
            convolution(f"{name}.downsample.0", f"{name}.downsample.1", made, read, 1)
tensors |= {"fc.weight": (512**-0.5, 10, 512), "fc.bias": (512**-0.5, 10)}
# For the labels: the number of classes, then the extents.
labels = {"classes": (10, batch)}
