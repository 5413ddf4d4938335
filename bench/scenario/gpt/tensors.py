"""A GPT: batches of 8 x 256 of 256 tokens, 6 blocks of 256, 8 heads, a tied head, AdamW; ckpt: each block is a segment.
"""

width, blocks, vocabulary, batch, time = 256, 6, 256, 8, 256

tensors = {"wte.weight": (0.1, vocabulary, width), "wpe.weight": (0.1, time, width)}


def linear(name, read, made):
    tensors[f"{name}.weight"] = (read**-0.5, made, read)
    tensors[f"{name}.bias"] = (read**-0.5, made)


def norm(name):
    tensors[f"{name}.weight"] = (1, width)
    tensors[f"{name}.bias"] = (0.1, width)


for i in range(blocks):
    norm(f"block.{i}.ln_1")
    tensors[f"block.{i}.attn.in_proj_weight"] = (width**-0.5, 3 * width, width)
    tensors[f"block.{i}.attn.in_proj_bias"] = (width**-0.5, 3 * width)
    linear(f"block.{i}.attn.out_proj", width, width)
    norm(f"block.{i}.ln_2")
    linear(f"block.{i}.fc1", width, 4 * width)
    linear(f"block.{i}.fc2", 4 * width, width)
norm("ln_f")
more = [("cairn.microbatch4", form) for form in ("plain", "ckpt")]  # the same batch in four microbatches
# For the labels: the number of tokens, then the extents.
labels = {"tokens": (vocabulary, batch, time), "next": (vocabulary, batch, time)}
