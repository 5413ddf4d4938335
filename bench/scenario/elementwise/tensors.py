"""12 elementwise operations on 16 M floats, loss: mean, gradient of the floats only; ckpt: all 12 are one segment."""

tensors = {"x": (2, 4096, 4096)}
labels = {}
