"""An LSTM of 256 units, 64 iterations, 32 sequences of 256 features, loss: mean of squares, gradients of parameters and
input; ckpt: every 16 iterations are a segment.
"""

tensors = {
    "x": (1, 32, 64, 256),
    "lstm.weight_ih_l0": (256**-0.5, 1024, 256),
    "lstm.weight_hh_l0": (256**-0.5, 1024, 256),
    "lstm.bias_ih_l0": (256**-0.5, 1024),
    "lstm.bias_hh_l0": (256**-0.5, 1024),
}
labels = {}
