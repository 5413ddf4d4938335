import torch
from peer import ckpt, tensor, threads
from training_torch import train
from tensors import tensors
from torch.nn.functional import batch_norm, conv2d, conv_transpose2d, max_pool2d, mse_loss, relu
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(threads)
parameters = {name: torch.tensor(tensor(name)) for name in tensors if name not in ("images", "wanted")}
for name, value in parameters.items():
    if value.ndim == 4:
        parameters[name] = value.contiguous(memory_format=torch.channels_last)
    parameters[name].requires_grad_()
statistics = {name: (torch.zeros(p.shape), torch.ones(p.shape))
              for name, p in parameters.items() if "bn" in name and name.endswith("weight")}
images, wanted = (torch.tensor(tensor(name)).permute(0, 3, 1, 2) for name in ("images", "wanted"))


def both(x, name):
    for i in (1, 2):
        norm = f"{name}.bn{i}"
        x = conv2d(x, parameters[f"{name}.conv{i}.weight"], padding=1)
        x = relu(batch_norm(x, *statistics[f"{norm}.weight"], parameters[f"{norm}.weight"], parameters[f"{norm}.bias"],
                            training=True))
    return x


def pair(x, name):
    return checkpoint(both, x, name, use_reentrant=False) if ckpt else both(x, name)


def joined(x, beside, i):
    x = conv_transpose2d(x, parameters[f"up{i}.weight"], parameters[f"up{i}.bias"], stride=2)
    return pair(torch.cat((x, beside), 1), f"join{i}")


def loss_of(images, wanted):
    whole = pair(images, "down1")
    half = pair(max_pool2d(whole, 2), "down2")
    x = pair(max_pool2d(half, 2), "bottom")
    x = joined(joined(x, half, 2), whole, 1)
    return mse_loss(conv2d(x, parameters["out.weight"], parameters["out.bias"]), wanted)


optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, fused=True)
train(loss_of, optimizer, images, wanted)
