"""Attention at 8 heads of 64, forward and backward, the mean of squares as loss: full and causal, of so many tokens."""

tensors = {name: (2, 4096, 8, 64) for name in "qkv"}
labels = {}
lengths = (128, 256, 512, 1024, 2048, 4096)
# One contest for each: they make equally many steps.
contests = [[(who, f"{numbers}{sight}-{length}") for who in ("cairn", "torch", "jax") for numbers in ("", "bf16-")]
            for length in lengths for sight in ("full", "causal")]
