import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import layers, tensors
from torch.nn.functional import batch_norm, conv2d, cross_entropy, linear, relu
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name)) for name in tensors if name != "images"}
for name, value in parameters.items():
    if value.ndim == 4:
        parameters[name] = value.contiguous(memory_format=torch.channels_last)
    parameters[name].requires_grad_()
statistics = {name.removesuffix(".weight"): (torch.zeros(p.shape), torch.ones(p.shape))
              for name, p in parameters.items() if "norm" in name and name.endswith("weight")}
images = torch.tensor(tensor("images")).permute(0, 3, 1, 2)
classes = torch.tensor(tensor("classes")).long()


def normalized(x, name):
    return relu(batch_norm(x, *statistics[name], parameters[f"{name}.weight"], parameters[f"{name}.bias"],
                           training=True))


def layer(i, *made):
    x = torch.cat(made, 1)
    x = conv2d(normalized(x, f"layer{i}.norm1"), parameters[f"layer{i}.conv1.weight"])
    return conv2d(normalized(x, f"layer{i}.norm2"), parameters[f"layer{i}.conv2.weight"], padding=1)


def loss_of(images, classes):
    made = [images]
    for i in range(layers):
        made.append(checkpoint(layer, i, *made, use_reentrant=False) if ckpt else layer(i, *made))
    x = normalized(torch.cat(made, 1), "norm")
    return cross_entropy(linear(x.mean((2, 3)), parameters["head.weight"], parameters["head.bias"]), classes)


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, images, classes)
