import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import tensors
from torch.nn.functional import batch_norm, conv2d, cross_entropy, linear, relu
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name)) for name in tensors if name != "images"}
for name, value in parameters.items():
    if value.ndim == 4:
        parameters[name] = value.contiguous(memory_format=torch.channels_last)
    parameters[name].requires_grad_()
statistics = {name: (torch.zeros(p.shape), torch.ones(p.shape)) for name, p in parameters.items() if p.ndim == 1}
images = torch.tensor(tensor("images")).permute(0, 3, 1, 2)
classes = torch.tensor(tensor("classes")).long()


def normalized(x, conv, norm, stride=1):
    weight = parameters[f"{conv}.weight"]
    x = conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
    return batch_norm(x, *statistics[f"{norm}.weight"], parameters[f"{norm}.weight"], parameters[f"{norm}.bias"],
                      training=True)


def block(x, name):
    narrow = f"{name}.downsample.0.weight" in parameters
    y = relu(normalized(x, f"{name}.conv1", f"{name}.bn1", 1 + narrow))
    y = normalized(y, f"{name}.conv2", f"{name}.bn2")
    return relu(y + (normalized(x, f"{name}.downsample.0", f"{name}.downsample.1", 2) if narrow else x))


def loss_of(images, classes):
    x = relu(normalized(images, "conv1", "bn1"))
    for stage in (1, 2, 3, 4):
        for i in (0, 1):
            name = f"layer{stage}.{i}"
            x = checkpoint(block, x, name, use_reentrant=False) if ckpt else block(x, name)
    return cross_entropy(linear(x.mean((2, 3)), parameters["fc.weight"], parameters["fc.bias"]), classes)


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, images, classes)
