"""Models that cairn-import must refuse. A comment `# refused: words` stands on the line that the message must name, with
words of the message. tests/tools/import_problems.py imports each of them."""

import functools

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

CASES = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer('average', torch.zeros(4))
        self.steps, self.last = 0, None

    def forward(self, x):
        return self.norm(self.linear(x))


def loss(outputs, inputs):
    return outputs.square().mean()


def returned(function):
    """A case that returns what cairn-import takes."""
    CASES[function.__name__] = function
    return function


def made(function, of, inputs=None, its_loss=loss):
    """A case in which a model is made of a function."""
    def make():
        return of(function), inputs or (torch.randn(3, 4),), its_loss
    make.__wrapped__, make.__name__ = function, function.__name__
    return returned(make)


def forward(function):
    """A case that is the forward of a model."""
    return made(function, lambda f: type(f.__name__, (Net,), {'forward': f})())


def settings(function):
    """A case that changes a model before it is returned."""
    def changed(f):
        model = Net()
        f(model)
        return model
    return made(function, changed)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


# ---------------------------------------------------------------------- what depends on numbers

@forward
def branch(model, x):
    h = model.linear(x)
    if h.sum() > 0:  # refused: use torch.where in place of a branch
        h = -h
    return h


@forward
def loop(model, x):
    h = model.linear(x)
    while h.norm() > 1:  # refused: depends on a number that is read out of a tensor
        h = h / 2
    return h


@forward
def item(model, x):
    h = model.linear(x)
    return h * h.sum().item()  # refused: keep the number a tensor in place of item()


@forward
def listed(model, x):
    h = model.linear(x)
    return h * sum(h[0].tolist())  # refused: depends on a number


@forward
def asserted(model, x):
    h = model.linear(x)
    assert h.abs().sum() < 1e9  # refused: depends on a number
    return h


@forward
def in_a_helper(model, x):
    def positive(h):
        return -h if h.sum() < 0 else h  # refused: depends on a number
    return positive(model.linear(x))


@forward
def masked(model, x):
    h = model.linear(x)
    return h + h[h > 0].sum()  # refused: the shape of indexing by a mask depends on the numbers


@forward
def constant_mask(model, x):
    seen = torch.tensor([True, False, True, True])
    return model.linear(x)[:, seen]  # refused: the shape of indexing by a mask depends on the numbers


@forward
def nonzero(model, x):
    h = model.linear(x)
    return h + torch.nonzero(h).sum()  # refused: the shape of torch.nonzero depends on the numbers


@forward
def selected(model, x):
    h = model.linear(x)
    return h + torch.masked_select(h, h > 0).sum()  # refused: the shape of torch.masked_select depends on the numbers


@forward
def unique(model, x):
    h = model.linear(x)
    return h + h.detach().unique().sum()  # refused: the shape of torch.unique depends on the numbers


@forward
def conditional(model, x):
    h = model.linear(x)
    return torch.cond(h.sum() > 0, lambda y: y + 1, lambda y: y - 1, [h])  # refused: choose with torch.where


# ---------------------------------------------------------------------- what leaves PyTorch or its graph

@forward
def through_numpy(model, x):
    h = model.linear(x)
    return h + torch.from_numpy(numpy.tanh(h.detach().numpy()))  # refused: in place of numpy


@forward
def data(model, x):
    h = model.linear(x)
    return h + h.data  # refused: call x.detach() instead


@forward
def own_function(model, x):
    return Doubled.apply(model.linear(x))  # refused: Doubled is an autograd.Function with a backward of its own


@forward
def tensor_hook(model, x):
    h = model.linear(x)
    h.register_hook(lambda g: 2 * g)  # refused: a hook on a tensor changes gradients
    return 2 * h


@forward
def without_gradient(model, x):
    with torch.no_grad():
        h = model.linear(x)  # refused: call detach() on the result instead
    return h + x * model.norm.weight


@forward
def inference(model, x):
    with torch.inference_mode():  # refused: call detach() on the result instead
        y = x + 1
    return model.linear(x) + y


@forward
def gradient_inside(model, x):
    with torch.enable_grad():
        h = model.linear(x)
        g, = torch.autograd.grad(h.square().mean(), h, create_graph=True)  # refused: cairn's grad
    return h * g


@forward
def functional_gradient(model, x):
    return model.linear(x) * torch.func.grad(lambda y: y.square().sum())(x)  # refused: cairn's grad


@forward
def needs_gradient(model, x):
    x.requires_grad_()  # refused: requires_grad_ has no counterpart inside of a model
    return model.linear(x)


# ---------------------------------------------------------------------- what changes in place, and what is remembered

@forward
def into_a_view(model, x):
    h = model.linear(x)
    h[:, 0] = 0  # refused: writes in place to a view of another tensor
    return h


@forward
def into_a_view_of_a_constant(model, x):
    h = x.new_zeros(3, 4)
    h[:, 0] = 1
    h[:, 1:2] = model.linear(x).mean()  # refused: writes in place to a view of another tensor
    return model.linear(x) + h


@forward
def a_stale_view(model, x):
    h = model.linear(x)
    view = h.view(-1)
    h += 1
    return h + view.view(3, 4)  # refused: reads a tensor that is changed in place


@forward
def buffer_in_place(model, x):
    model.average.mul_(0.9)  # refused: forward changes the buffer "average"
    return model.linear(x) + model.average


@forward
def buffer_assigned(model, x):
    h = model.linear(x)
    model.average = 0.9 * model.average + h.detach().mean(0)  # refused: forward changes the buffer "average"
    return h + model.average


@forward
def counter(model, x):
    model.steps += 1  # refused: changes its attribute steps in each call
    return model.linear(x) / model.steps


@forward
def memory(model, x):
    h = model.linear(x)
    out = h if model.last is None else h + model.last
    model.last = h.detach()  # refused: keeps last for its next call
    return out


# ---------------------------------------------------------------------- what cairn lacks

@forward
def random(model, x):
    return model.linear(x) + torch.rand(4)  # refused: torch.rand draws random numbers


@forward
def random_like(model, x):
    return model.linear(x) + torch.randn_like(x)  # refused: torch.randn_like draws random numbers


@forward
def leaky(model, x):
    return F.rrelu(model.linear(x), training=model.training)  # refused: torch.rrelu draws random numbers


@forward
def alpha_dropout(model, x):
    return F.alpha_dropout(model.linear(x), 0.5, model.training)  # refused: torch.alpha_dropout draws random numbers


@forward
def complex_numbers(model, x):
    return torch.fft.fft(model.linear(x)).abs()  # refused: compute with the real and the imaginary parts


@forward
def no_counterpart(model, x):
    return torch.linalg.svdvals(model.linear(x)).sum() + x  # refused: torch.linalg_svdvals has no counterpart


@forward
def negative_indices(model, x):
    h = model.linear(x)
    order = torch.cat([h.argmax(1), torch.tensor([0, -1])])  # refused: takes a constant array of whole numbers as indices, and one of them is -1
    return h[:, order]


@forward
def cured(model, x):
    h = model.linear(x)
    return h - h.median(1, keepdim=True)[0]  # refused: sort, and take an element of x.sort(dim).values


@forward
def several_axes(model, x):
    h = model.linear(x)
    return h[h.argmin(0)[:3], h.argmax(1)] + h[:, 0]  # refused: indexes several axes at once: join these axes with flatten


@forward
def overwrites(model, x):
    h = model.linear(x)
    return h.scatter(1, h.argmax(1, keepdim=True), h[:, :1])  # refused: choose with torch.where, or add with scatter_add


@forward
def places_of_a_pool(model, x):
    h, places = F.max_pool2d(model.linear(x)[None, None], (1, 2), return_indices=True)
    return h + places  # refused: the indices of a pool have no counterpart: pool without return_indices


@forward
def half(model, x):
    return model.linear(x).half().float()  # refused: computes in torch.float16


@forward
def narrows(model, x):
    return F.linear(x.float(), model.linear.weight) + model.linear(x)  # refused: let it take the dtype of its parameters


@forward
def autocast(model, x):
    with torch.autocast('cpu', dtype=torch.bfloat16):
        h = model.linear(x)  # refused: autocast inside of the model has no counterpart
    return h.float()


@forward
def compiled(model, x):
    return torch.vmap(torch.tanh)(model.linear(x))  # refused: torch.vmap has no counterpart


# ---------------------------------------------------------------------- checkpoints

@forward
def selective(model, x):
    context = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    return checkpoint(model.linear, x, use_reentrant=False, context_fn=context)  # refused: checkpoint with a context_fn


@forward
def detached_inside(model, x):
    def function(y):
        return y * model.linear(y).detach()  # refused: detach before the call
    return checkpoint(function, model.linear(x), use_reentrant=False)


@forward
def not_trained(model, x):
    return checkpoint(model.linear, x, use_reentrant=True)  # refused: pass use_reentrant=False


# ---------------------------------------------------------------------- settings

@settings
def forward_hook(model):
    model.linear.register_forward_hook(lambda m, i, o: 2 * o)  # refused: the module "linear" has a forward hook


@settings
def forward_pre_hook(model):
    model.register_forward_pre_hook(lambda m, i: i)  # refused: the model has a forward pre-hook


@settings
def backward_hook(model):
    model.norm.register_full_backward_hook(lambda m, i, o: None)  # refused: the module "norm" has a backward hook


@settings
def parameter_hook(model):
    model.linear.weight.register_hook(lambda g: 2 * g)  # refused: the parameter "linear.weight" has a hook


@settings
def old_weight_norm(model):
    nn.utils.weight_norm(model.linear)  # refused: the module "linear" has a forward pre-hook


@settings
def evaluation(model):
    model.norm.eval()  # refused: the module "norm" is in evaluation mode


@settings  # refused: the batch norm "norm" has momentum=None
def cumulative(model):
    model.norm.momentum = None


@settings  # refused: "linear.weight" and 1 more of the model: torch.bfloat16 has no counterpart here
def narrow(model):
    model.linear.bfloat16()
    model.linear.forward = lambda x: F.linear(x, model.linear.weight.float())


@settings
def wrong(model):
    model.linear.weight.data = torch.zeros(4, 5)
    raise ValueError('on purpose')  # refused: fails here (ValueError: on purpose)


# ---------------------------------------------------------------------- inputs and outputs

@returned  # refused: the input "pair" is a tuple
def nested_input():
    class Pair(Net):
        def forward(self, x, pair):
            return self.linear(x) + pair[0]
    return Pair(), {'x': torch.randn(3, 4), 'pair': (torch.randn(3, 4), torch.randn(3, 4))}, loss


@returned  # refused: the input "x" is torch.float64
def wide_input():
    class Narrows(Net):
        def forward(self, x):
            return self.linear(x.float())
    return Narrows(), {'x': torch.randn(3, 4).double()}, loss


@returned  # refused: no output depends on the input "unused"
def unused_input():
    class Unused(Net):
        def forward(self, x, unused):
            return self.linear(x)
    return Unused(), {'x': torch.randn(3, 4), 'unused': torch.randn(3)}, loss


@returned  # refused: changes an output and not the loss
def unused_head():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)

        def forward(self, x):
            return {'a': self.first(x), 'b': self.second(x)}
    return Heads(), (torch.randn(3, 4),), lambda outputs, inputs: outputs['a'].square().mean()


@returned  # refused: the function returns no example inputs
def no_inputs():
    return Net()


@returned  # refused: the function returns a builtin_function_or_method as the model
def no_module():
    return torch.tanh, (torch.randn(3, 4),)


@returned  # refused: forward takes "x", and the example inputs are "y" (missing a required argument: 'x')
def wrong_name():
    return Net(), {'y': torch.randn(3, 4)}, loss


@returned  # refused: forward takes "x", and the example inputs are a tuple of 2 (too many positional arguments)
def too_many_inputs():
    return Net(), (torch.randn(3, 4), torch.randn(3, 4)), loss


@returned  # refused: forward has no parameter "labels", and there is no loss that reads it
def no_loss():
    return Net(), {'x': torch.randn(3, 4), 'labels': torch.randn(3, 4)}


@returned  # refused: the input "x" is on the device meta: return a tensor of the CPU
def input_elsewhere():
    return Net(), {'x': torch.randn(3, 4, device='meta')}, loss


@returned  # refused: "linear.weight" of the model is on the device meta: return model.cpu()
def model_elsewhere():
    return Net().to('meta'), {'x': torch.randn(3, 4)}, loss


@returned  # refused: the input "0" requires a gradient
def input_with_gradient():
    return Net(), (torch.randn(3, 4, requires_grad=True),), loss


@returned  # refused: the function returns nothing
def nothing():
    Net()


@returned  # refused: needs_depth has the parameter depth, and is called without arguments
def needs_depth(depth):
    return Net()


# ---------------------------------------------------------------------- losses

def with_loss(function):
    """A case that is the loss of a model."""
    return made(function, lambda _: Net(), {'x': torch.randn(3, 4), 'labels': torch.tensor([0, 1, 7])}, function)


@with_loss
def wrong_key(outputs, inputs):
    return F.cross_entropy(outputs, inputs['target'])  # refused: the loss fails here (KeyError: 'target'): it gets outputs of shape (3, 4), and the inputs "x" and "labels"


@with_loss
def label_out_of_range(outputs, inputs):
    return F.cross_entropy(outputs, inputs['labels'])  # refused: (IndexError: Target 7 is out of bounds.): it gets outputs of shape (3, 4), and the inputs "x" and "labels" with whole numbers up to 7


@returned
def many_losses():
    def many(outputs, inputs):  # refused: the loss has shape (3,): return one number, such as its mean
        return outputs.square().mean(1)
    return Net(), (torch.randn(3, 4),), many


@returned
def loss_is_a_number():
    def number(outputs, inputs):  # refused: the loss is a float: return one tensor, without item()
        return outputs.square().mean().item()
    return Net(), (torch.randn(3, 4),), number


@returned
def loss_of_inputs():
    def of_inputs(outputs, inputs):  # refused: the loss depends on no parameter that requires a gradient
        return inputs[0].square().mean()
    return Net(), (torch.randn(3, 4),), of_inputs


# ---------------------------------------------------------------------- several at once

@forward
def all_at_once(model, x):
    h = model.linear(x)
    if h.sum() > 0:  # refused: use torch.where in place of a branch
        h = -h
    h = Doubled.apply(h)  # refused: Doubled is an autograd.Function
    h = h * h.sum().item()  # refused: depends on a number
    h = h + h[h > 0].sum()  # refused: the shape of indexing by a mask
    model.average.mul_(0.9)  # refused: forward changes the buffer "average"
    return h + torch.rand(4)  # refused: torch.rand draws random numbers
