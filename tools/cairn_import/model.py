"""A model of PyTorch as the importer sees it: its graph, its parameters under their first names, and its segments."""

import contextlib
import fnmatch

import torch
import torch.utils.checkpoint
from torch.utils import _pytree as pytree

from cairn_import.body import Body, Reader
from cairn_import.problem import Problems
from cairn_import.text import RESERVED
from cairn_import.value import Array, Constant, Value, transposed

# A call of torch.utils.checkpoint leaves no trace in an exported graph, or one that reads like a detach. While the
# importer exports, these two marks stand around what the call computes.
torch.library.define('cairn_import::enter', '(Tensor x, int segment) -> Tensor')
torch.library.define('cairn_import::leave', '(Tensor x, int segment) -> Tensor')
for mark in ('enter', 'leave'):
    torch.library.impl(f'cairn_import::{mark}', 'CompositeExplicitAutograd', lambda x, segment: x.clone())
    torch.library.register_fake(f'cairn_import::{mark}', lambda x, segment: torch.empty_like(x))


def marked_checkpoint():
    """A stand-in for torch.utils.checkpoint.checkpoint, and the number of its calls."""
    calls = []

    def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, determinism_check='default',
                   debug=False, context_fn=None, early_stop=True, **kwargs):
        segment = len(calls)
        calls.append(context_fn)
        put = lambda mark: lambda t: getattr(torch.ops.cairn_import, mark)(t, segment) if isinstance(
            t, torch.Tensor) and t.is_floating_point() else t
        args, kwargs = pytree.tree_map(put('enter'), (args, kwargs))
        return pytree.tree_map(put('leave'), function(*args, **kwargs))
    return checkpoint, calls


@contextlib.contextmanager
def checkpoints_marked():
    original = torch.utils.checkpoint.checkpoint
    torch.utils.checkpoint.checkpoint, calls = marked_checkpoint()
    try:
        yield calls
    finally:
        torch.utils.checkpoint.checkpoint = original


class WithLoss(torch.nn.Module):
    """The model, and a loss of its outputs and inputs. `forward` returns all tensors of the outputs, and the loss."""

    def __init__(self, model, loss, accepted, note_names):
        super().__init__()
        self.model, self.loss, self.accepted = model, loss, accepted
        self.note_names = note_names  # an export would undo an assignment to an attribute

    def forward(self, *args, **kwargs):
        given = {k: v for k, v in kwargs.items() if k in self.accepted} if self.accepted is not None else kwargs
        outputs = self.model(*args, **given)
        named = dict(outputs.items() if hasattr(outputs, 'items') else {'output': outputs})
        own_loss = named.pop('loss', None)
        loss = [self.loss(outputs, kwargs or args)] if self.loss else [own_loss] if own_loss is not None else []
        named = named.items()
        found = [(name, t) for name, value in named for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]
        self.note_names(unique([name for name, _ in found]))
        return tuple(t for _, t in found) + tuple(loss)


def unique(names):
    seen, out = {}, []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f'{name}_{seen[name]}')
    return out


class Model:
    def __init__(self, module, args, kwargs, loss, segments, accepted=None):
        self.original, self.segments, self.problems = module, segments, Problems()
        self.constants, self.taken = {}, set()
        self.norms = set()  # the batch norms, whose buffers are states of the program
        self.first_names, self.parameters = {}, {}
        for name, parameter in module.named_parameters(remove_duplicate=False):
            first = next((n for n, p in self.parameters.items() if p is parameter), name)
            self.parameters.setdefault(first, parameter)
            self.first_names[name] = first
        self.buffers = dict(module.named_buffers(remove_duplicate=False))
        self.output_names = []
        self.wrapper = WithLoss(module, loss, accepted, self.note_names)
        self.args, self.kwargs = args, kwargs
        self.inputs = []  # the leaves that are bound

    def note_names(self, names):
        self.output_names = names

    # ------------------------------------------------------------------ what readers ask

    def module(self, path):
        return self.original.get_submodule(path)

    def leaf(self, path):
        """The parameter or the buffer of this name, or None."""
        path = path.removeprefix('model.') if path not in self.first_names and path not in self.buffers else path
        if path in self.first_names:
            return self.parameters[self.first_names[path]]
        return Constant(self.buffers[path].detach(), path) if path in self.buffers else None

    def first_name(self, path):
        return self.first_names[path]

    def take_layer(self, reader, owner):
        """The name of a layer with the parameters of this module, inside the body that is read. None if another layer
        has them already, or if the module lies outside of the body."""
        name = reader.body.relative(owner)
        if not name or owner in self.taken:
            return None
        self.taken.add(owner)
        reader.body.has_names = True
        return name

    def is_segment(self, path):
        names = path.split('.')
        return any(len(names) == len(parts) and all(map(fnmatch.fnmatchcase, names, parts))
                   for parts in (pattern.split('.') for pattern in self.segments))

    def constant_name(self, tensor, hint):
        """The name of an array that is loaded with the weights, and that is no tensor of the module."""
        name = next((n for n, t in self.constants.items() if t.shape == tensor.shape and torch.equal(t, tensor)), None)
        if name is None:
            name = unique([*(n.removeprefix('constants.') for n in self.constants), hint])[-1]
            name = f'constants.{name}'
            self.constants[name] = tensor.to(torch.float32).contiguous().clone()
        return name

    # ------------------------------------------------------------------ the graph

    def read(self):
        """Exports the model, and reads its graph. Returns the body of the wrapper."""
        self.wrapper.train()
        exported = torch.export.export(self.wrapper, self.args, self.kwargs, strict=False)
        graph = torch.export.unflatten(exported)
        body = Body('', self.original)
        placeholders = graph.graph.find_nodes(op='placeholder')
        names = self.input_names(placeholders)
        arguments = [self.input(name, node.meta['val']) for name, node in zip(names, placeholders)]
        results = Reader(self, graph, None, body).read(arguments)
        body.returned = [v.array for v in results if isinstance(v, Value)]
        self.outputs = dict(zip([*self.output_names, 'loss'], results))
        return body

    def input_names(self, placeholders):
        names = [*self.kwargs] if self.kwargs else [n.name.removeprefix('args_') for n in placeholders]
        return names if self.kwargs or len(names) > 1 else ['x']

    def input(self, name, example):
        if not isinstance(example, torch.Tensor):
            return example
        kind = 'real' if example.is_floating_point() else 'truth' if example.dtype == torch.bool else 'index'
        array = Array([], example.shape, name, kind=kind, bound=2 if kind == 'truth' else None)
        array.is_leaf, array.bound_name = True, name
        array.name = f'{name}_' if name in RESERVED else name
        self.inputs.append(array)
        value = Value(array)
        rank = len(array.extents)
        convolves = any(isinstance(m, getattr(torch.nn, f'Conv{rank - 2}d', ())) for m in self.original.modules())
        if kind == 'real' and rank > 2 and convolves:  # cairn has the channels last
            array = transposed(array, (0, *range(2, rank), 1))
            value = Value(array, (0, rank - 1, *range(1, rank - 1)))
        return value
