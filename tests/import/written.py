"""Models whose model.hpp is known in part. A comment `# written: text` has a text that cairn-import must write.
tests/tools/import_written.py imports each model, and compares it with PyTorch."""

from collections import namedtuple

import torch
from torch import nn

CASES = {}
Moments = namedtuple('Moments', 'mean spread')


def case(model):
    def make():
        torch.manual_seed(1)
        net = model()
        return net, net.inputs(), getattr(net, 'loss', None)
    make.__wrapped__ = model
    CASES[model.__name__] = make
    return make


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, gate, scale=None, *, shift):
        return (torch.sigmoid(self.b(gate)) + shift) * scale * self.a(x)


@case
class Order(nn.Module):
    """Arguments in another order than that in which they are read, a named tuple, and an input that only the loss reads."""
    # written: [](auto x, auto gate, auto scale, auto shift) {
    # written: [](auto images, auto times) {
    # written: images = input<"images", 3, 4>; constexpr auto times = input<"times", 3, 4>; constexpr auto labels_
    # written: constexpr auto mean_ = std::get<0>(results); constexpr auto spread = std::get<1>(results);

    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, images, times):
        y = self.gate(images, shift=times, gate=times + 1, scale=torch.tanh(times))
        return Moments(y.mean(1), y.std(1))

    def inputs(self):
        return {'labels': torch.randn(3), 'times': torch.randn(3, 4), 'images': torch.randn(3, 4)}

    def loss(self, outputs, given):
        return (outputs.mean - given['labels']).square().mean() + outputs.spread.mean()


@case
class Keys(nn.Module):
    """An output with the name of an input, several tensors under one key, and a dict in a dict."""
    # written: constexpr auto y = std::get<0>(results);
    # written: constexpr auto more_2 = std::get<2>(results); constexpr auto deep = std::get<3>(results);

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return {'x': y, 'more': [y.tanh(), y.sigmoid(), {'deep': y.exp()}], 'loss': y.square().mean()}

    def inputs(self):
        return torch.randn(3, 4),


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8, bias=False), nn.Linear(8, 8)

    def forward(self, x):
        return x + self.linear(self.norm(x))


@case
class Norms(nn.Module):
    """Norms that lack parameters, and equal modules whose names count from 1."""
    # written: (x | nn::layer_norm<"norm", nn::norm_options{.affine = false}>) * param<"norm.weight", 8>
    # written: nn::linear<"0", 8> | block<"1">(normed) | block<"2">(normed)
    # written: nn::rms_norm<"norm", nn::rms_norm_options{.eps = 1e-06, .affine = false}>
    # written: nn::group_norm<"norm", 2, nn::norm_options{.affine = false}>

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(8, 8), Normed(), Normed())
        self.rms, self.group = nn.RMSNorm(8, eps=1e-6, elementwise_affine=False), nn.GroupNorm(2, 8, affine=False)

    def forward(self, x):
        return self.group(self.rms(self.blocks(x)).transpose(1, 2)[..., None])

    def inputs(self):
        return torch.randn(3, 4, 8),

    def loss(self, outputs, given):
        return outputs.square().mean()


@case
class Report(nn.Module):
    """A class with a name of check.cpp."""
    # written: namespace report_model {

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 2)

    def forward(self, x):
        return self.linear(x)

    def inputs(self):
        return torch.randn(3, 8),

    def loss(self, outputs, given):
        return outputs.square().mean()


class Joined(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.linear = nn.Linear(4 * count, 4)

    def forward(self, features):
        return torch.tanh(self.linear(torch.cat(features, -1)))


@case
class Packs(nn.Module):
    """Modules that take lists of different lengths, and a tuple of inputs."""
    # written: constexpr auto joined = [](auto... features) { return concatenate<1>(features...) | nn::linear<
    # written: constexpr auto x = input<"x", 3, 4>; constexpr auto y = input<"y", 3, 4>;

    def __init__(self):
        super().__init__()
        self.two, self.three = Joined(2), Joined(3)

    def forward(self, x, y):
        features = [x, y]
        features.append(self.two(features))
        return self.three(features)

    def inputs(self):
        return torch.randn(3, 4), torch.randn(3, 4)

    def loss(self, outputs, given):
        return outputs.square().mean()
