"""A U-Net of three levels over 16 images of 64 x 64 pixels; ckpt: each pair of convolutions is a segment."""

batch, side, widths = 16, 64, (32, 64, 128)

# For each tensor: the bound, then the extents. The numbers are uniform in [-bound, bound].
tensors = {"images": (1, batch, side, side, 1), "wanted": (1, batch, side, side, 1)}


def pair(name, made, read):
    for i, each in ((1, read), (2, made)):
        tensors[f"{name}.conv{i}.weight"] = ((9 * each) ** -0.5, made, each, 3, 3)
        tensors[f"{name}.bn{i}.weight"] = tensors[f"{name}.bn{i}.bias"] = (1, made)


pair("down1", widths[0], 1)
pair("down2", widths[1], widths[0])
pair("bottom", widths[2], widths[1])
for i in (2, 1):
    tensors[f"up{i}.weight"] = ((4 * widths[i]) ** -0.5, widths[i], widths[i - 1], 2, 2)
    tensors[f"up{i}.bias"] = (1, widths[i - 1])
    pair(f"join{i}", widths[i - 1], 2 * widths[i - 1])
tensors |= {"out.weight": (32**-0.5, 1, 32, 1, 1), "out.bias": (1, 1)}
labels = {}
