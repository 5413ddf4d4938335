"""2048 rows, 8 blocks x + fc2(gelu(fc1(x))), 256-1024-256, mean of squares, AdamW; ckpt: segments, or groups of rows."""

tensors = {"x": (1, 2048, 256)}
for i in range(8):
    tensors |= {
        f"block.{i}.fc1.weight": (256**-0.5, 1024, 256),
        f"block.{i}.fc1.bias": (256**-0.5, 1024),
        f"block.{i}.fc2.weight": (1024**-0.5, 256, 1024),
        f"block.{i}.fc2.bias": (1024**-0.5, 256),
    }
labels = {}
more = [(f"cairn.{beside}tiled{groups}", "ckpt") for groups in (4, 8) for beside in ("", "optimizer-")]
