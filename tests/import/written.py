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
