"""GPT-2 with 124 million parameters: batches of 4 x 64 of 50,257 tokens, AdamW; ckpt: each block is a segment."""

width, blocks, vocabulary, positions, batch, time = 768, 12, 50257, 1024, 4, 64
small = 0.02 * 3**0.5  # numbers up to this bound have the standard deviation 0.02

# Hugging Face's names and layouts
tensors = {"wte.weight": (small, vocabulary, width), "wpe.weight": (small, positions, width)}


def conv1d(name, read, made):
    tensors[f"{name}.weight"] = (small, read, made)
    tensors[f"{name}.bias"] = (small, made)


def norm(name):
    tensors[f"{name}.weight"] = (1, width)
    tensors[f"{name}.bias"] = (0.1, width)


for i in range(blocks):
    norm(f"h.{i}.ln_1")
    conv1d(f"h.{i}.attn.c_attn", width, 3 * width)
    conv1d(f"h.{i}.attn.c_proj", width, width)
    norm(f"h.{i}.ln_2")
    conv1d(f"h.{i}.mlp.c_fc", width, 4 * width)
    conv1d(f"h.{i}.mlp.c_proj", 4 * width, width)
norm("ln_f")
# For the labels: the number of tokens, then the extents.
labels = {"text": (vocabulary, batch, time), "next": (vocabulary, batch, time)}

# All contestants hold their memory at the same time, 12 GiB in all.
contestants = [("cairn", "plain"), ("cairn", "ckpt"), ("torch", "plain"), ("torch", "ckpt"), ("torch.hooks", "ckpt"),
               ("llmc", "plain")]
threads = (2,)
limits = {"budget": 300}
