"""The README's network in PyTorch's DistributedDataParallel with gloo: ranks_torch.py FOLDER FORM STEPS RANK SIZE ROWS

Each process has ROWS rows of the batch. FORM is `hash` or `time`, as in ranks.cpp. The first process prints.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

import numpy
import torch
from torch.nn.functional import cross_entropy, gelu
from torch.utils.checkpoint import checkpoint

folder, form = Path(sys.argv[1]), sys.argv[2]
steps, rank, size, rows = map(int, sys.argv[3:])
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method="env://", rank=rank, world_size=size)


class block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)

    def forward(self, x):
        return x + self.fc2(gelu(self.fc1(x)))


class network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Linear(784, 256), torch.nn.Linear(256, 10)
        self.block = torch.nn.ModuleList(block() for _ in range(8))

    def forward(self, x):
        x = self.embed(x)
        for each in self.block:
            x = checkpoint(each, x, use_reentrant=False)
        return self.head(x)


def tensor(name, kind, *shape):
    return torch.from_numpy(numpy.fromfile(folder / name, kind).reshape(*shape))


model = network()
with torch.no_grad():
    for name, parameter in model.named_parameters():
        parameter.copy_(tensor(name, numpy.float32, parameter.shape))
trained = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
own = slice(rank * rows, (rank + 1) * rows)
images = tensor("images", numpy.float32, -1, 784)[own]
classes = tensor("classes", numpy.int32, -1)[own].long()
for _ in range(steps):
    begin, used = time.perf_counter(), time.process_time()
    optimizer.zero_grad()
    loss = cross_entropy(trained(images), classes)
    loss.backward()
    optimizer.step()
    if form == "time" and rank == 0:
        print(time.perf_counter() - begin, time.process_time() - used, flush=True)
if form == "hash":
    torch.distributed.all_reduce(loss.detach())
    parameters = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    if rank == 0:
        print(hashlib.sha256(parameters).hexdigest()[:16], f"{loss.item() / size:.9g}")
torch.distributed.destroy_process_group()
