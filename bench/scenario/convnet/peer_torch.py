import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import tensors
from torch.nn.functional import batch_norm, conv2d, cross_entropy, linear, max_pool2d, relu
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name)) for name in tensors if name != "images"}
for name, value in parameters.items():
    if value.ndim == 4:
        parameters[name] = value.contiguous(memory_format=torch.channels_last)
    parameters[name].requires_grad_()
statistics = {name: (torch.zeros(p.shape), torch.ones(p.shape))
              for name, p in parameters.items() if name.startswith("norm") and name.endswith("weight")}
images = torch.tensor(tensor("images")).permute(0, 3, 1, 2)
classes = torch.tensor(tensor("classes")).long()


def stage(x, i, pooled):
    x = conv2d(x, parameters[f"conv{i}.weight"], padding=1)
    x = relu(batch_norm(x, *statistics[f"norm{i}.weight"], parameters[f"norm{i}.weight"], parameters[f"norm{i}.bias"],
                        training=True))
    return max_pool2d(x, 2) if pooled else x


def loss_of(images, classes):
    x = images
    for i in (1, 2, 3):
        x = checkpoint(stage, x, i, i < 3, use_reentrant=False) if ckpt else stage(x, i, i < 3)
    return cross_entropy(linear(x.mean((2, 3)), parameters["head.weight"], parameters["head.bias"]), classes)


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, images, classes)
