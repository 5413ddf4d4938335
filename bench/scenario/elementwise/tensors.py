"""12 elementwise operations on 16 M floats and back, mean, gradient of the floats only; ckpt: all 12 are a segment."""

tensors = {"x": (2, 4096, 4096)}
labels = {}
