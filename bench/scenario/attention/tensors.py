"""Attention with 8 heads of 64, by number of tokens, loss: mean of squares; ckpt: attention is a segment."""

tensors = {name: (2, 4096, 8, 64) for name in "qkv"}
labels = {}
# The most tokens, plain and with ckpt. JAX stores scores, and takes ten times as long if there are many. torch.compile
# calls the kernel of PyTorch.
most = {"cairn": (4096, 4096), "torch": (4096, 4096), "torch.compile": (4096, 0), "jax": (2048, 1024)}
# There is one contest for each length and mask, because the contestants of a contest make equally many steps.
contests = [[(who, f"{numbers}{sight}-{length}{form}") for who, longest in most.items() for numbers in ("", "bf16-")
             for form, up_to in zip(("", "-ckpt"), longest) if length <= up_to]
            for length in (128, 256, 512, 1024, 2048, 4096) for sight in ("full", "causal")]
limits = {"budget": 5, "least": 3}  # few seconds each, because there are many contests
