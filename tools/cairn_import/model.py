"""A model of PyTorch as the importer sees it: its graph, its parameters under their first names, and its segments."""

import contextlib
import copy
import fnmatch
import functools
import inspect
import io
import logging
import sys
import traceback
import warnings
from unittest import mock

import torch
import torch.utils.checkpoint
from torch import library
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import noop_context_fn

from cairn_import import modules, watch
from cairn_import.body import Body, Reader, Unknown
from cairn_import.problem import explained, first_line, here, place_of_error, user_frames
from cairn_import.programs import read_by
from cairn_import.text import RESERVED, snake_case
from cairn_import.value import Array, Constant, Value, transposed

# A call of torch.utils.checkpoint leaves no trace in an exported graph, or one that reads like a detach. While the
# importer exports, these two marks stand around what the call computes.
library.define('cairn_import::enter', '(Tensor[] arguments, str name) -> Tensor')
library.define('cairn_import::leave', '(Tensor x, Tensor entered) -> Tensor')
library.register_fake('cairn_import::enter', lambda arguments, name: torch.empty(0))
library.register_fake('cairn_import::leave', lambda x, entered: torch.empty_like(x))

# The graph of a module has its arguments in the order in which they are read. This mark, at the beginning of the graph,
# has them in the order of the signature of `forward`, with their names.
library.define('cairn_import::arguments', '(Tensor[] arguments, str[] names) -> ()')
library.register_fake('cairn_import::arguments', lambda arguments, names: None)
torch.fx.node.has_side_effect(torch.ops.cairn_import.arguments.default)


def name_of(function):
    """The name of what checkpoint calls: that of a function, or that of a module by its class."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, '__self__', function)
    *outer, name = getattr(function, '__qualname__', '').split('.')
    if name in ('', 'forward', '__call__', '_call_impl', '_wrapped_call_impl'):
        name = snake_case(type(owner).__name__ if isinstance(owner, torch.nn.Module) else outer[-1] if outer else '')
    name = name.strip('_')
    return name if name.isidentifier() else 'segment'


def marked_checkpoint(problems):
    """A stand-in for torch.utils.checkpoint.checkpoint. Outside of an export it calls the function and no more."""

    def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, determinism_check='default',
                   debug=False, context_fn=noop_context_fn, early_stop=True, respect_saved_tensors_hooks=None, **kwargs):
        if context_fn is not noop_context_fn:
            problems.add(here(), 'checkpoint with a context_fn has no counterpart: import the model without it, and give '
                                 'the segment a policy in C++, such as save_matmuls')
        given = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if not torch.compiler.is_exporting():
            if use_reentrant is not False and torch.is_grad_enabled() and not any(t.requires_grad for t in given):
                problems.add(here(), 'no argument of this checkpoint needs a gradient, so PyTorch does not train the '
                                     'parameters in it: pass use_reentrant=False')
            return function(*args, **kwargs)
        entered = torch.ops.cairn_import.enter(given, name_of(function))
        return pytree.tree_map_only(torch.Tensor, lambda t: torch.ops.cairn_import.leave(t, entered),
                                    function(*args, **kwargs))
    return checkpoint


def replace_everywhere(old, new):
    """Replaces a function under each name that a module has for it."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, '__dict__', {}).items()):
            if value is old:
                setattr(module, name, new)


@contextlib.contextmanager
def checkpoints_marked(problems):
    original, marked = torch.utils.checkpoint.checkpoint, marked_checkpoint(problems)
    replace_everywhere(original, marked)
    try:
        yield
    finally:
        replace_everywhere(marked, original)


@contextlib.contextmanager
def arguments_marked(model):
    """Marks the arguments of modules that become functions, while the model is exported."""
    def mark(module, args, kwargs):
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        tensors = [(t, name) for name, value in given.items() for t in pytree.tree_leaves(value)
                   if isinstance(t, torch.Tensor) and not isinstance(t, torch.nn.Parameter)]
        torch.ops.cairn_import.arguments([t for t, _ in tensors], [name for _, name in tensors])

    hooks = [m.register_forward_pre_hook(mark, with_kwargs=True) for m in model.modules()
             if not modules.is_part_of_its_parent(m) and not modules.rule_for(m)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def whole_traces():
    """Keeps all lines of the user's source in an exported graph, and not those of `forward` alone. Hides the messages of
    torch.export, which come back as problems."""
    def kept(tracer, frames):
        return traceback.StackSummary.from_list(user_frames(frames))

    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), mock.patch.object(torch.fx.proxy.TracerBase, '_filter_traceback_frames', kept):
            warnings.simplefilter('ignore')
            yield
    finally:
        logging.disable(level)


STORED = {'linear', 'conv1d', 'conv2d', 'conv_transpose1d', 'conv_transpose2d', 'matmul', 'mm', 'bmm', 'addmm', 'einsum',
          'scaled_dot_product_attention', 'layer_norm', 'batch_norm', 'group_norm', 'rms_norm', 'softmax'}


def bytes_of(node):
    value = node.meta.get('val')
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) and value.is_floating_point() else 0


def stored_bytes(graph, nodes):
    """The bytes of results of products and norms, also in the modules that are called."""
    out = 0
    for node in nodes:
        if node.op == 'call_module':
            inner = graph.get_submodule(node.target)
            out += stored_bytes(inner, inner.graph.nodes)
        elif isinstance(node.target, torch._ops.OpOverload) and node.target.overloadpacket.__name__ in STORED:
            out += bytes_of(node)
    return out


def named_tensors(value, name):
    """The tensors of an output, each with the name of its field or key. Elements of a tuple have the name of the tuple."""
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    value = value._asdict() if hasattr(value, '_asdict') else value
    parts = [(str(key), inner) for key, inner in value.items()] if hasattr(value, 'items') else [
        (name, inner) for inner in value] if isinstance(value, (tuple, list)) else []
    return [pair for key, inner in parts for pair in named_tensors(inner, key)]


class WithLoss(torch.nn.Module):
    """The model, and a loss of its outputs and inputs. `forward` returns all tensors of the outputs, and the loss."""

    def __init__(self, model, loss, accepted, note_names):
        super().__init__()
        self.model, self.loss, self.accepted = model, loss, accepted
        self.note_names = note_names  # an export would undo an assignment to an attribute

    def forward(self, *args, **kwargs):
        given = {k: v for k, v in kwargs.items() if k in self.accepted} if self.accepted is not None else kwargs
        outputs = self.model(*args, **given)
        found = named_tensors(outputs, 'output')
        own_loss = [t for name, t in found if name == 'loss'][:1]
        loss = [self.loss_of(outputs, kwargs or args)] if self.loss else own_loss
        found = [(name, t) for name, t in found if name != 'loss']
        self.note_names(unique([name for name, _ in found]))
        return tuple(t for _, t in found) + tuple(loss)

    def loss_of(self, outputs, inputs):
        try:
            return self.loss(outputs, inputs)
        except Exception as error:
            error.arguments_of_loss = outputs, inputs  # for the message
            raise


def reached(graph, results):
    """The nodes that the results read. Operations that change their arguments count as read."""
    changes = [n for n in graph.nodes if isinstance(n.target, torch._ops.OpOverload) and n.target._schema.is_mutable]
    seen, waiting = set(), [*results, *changes]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += node.all_input_nodes
    return seen


def unique(names):
    out = []
    for name in names:
        own, count = name, 1
        while own in out:
            count += 1
            own = f'{name}_{count}'
        out.append(own)
    return out


def matches(path, pattern):
    """Returns true if the name of a module fits the pattern, in which a star stands for one name."""
    names, parts = path.split('.'), pattern.split('.')
    return len(names) == len(parts) and all(map(fnmatch.fnmatchcase, names, parts))


class Model:
    def __init__(self, module, args, kwargs, loss, segments, problems, accepted=None):
        self.original, self.segments, self.problems = module, segments, problems
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
        self.has_useless_segments = self.draws_random = False

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
        return any(matches(path, pattern) for pattern in self.segments)

    def frees_memory(self, graph, nodes, ends):
        """Returns true if a segment surely frees memory: the results of its products and norms, which a backward pass
        reads, have more bytes than the values at its ends, and it is at most half of the model. cairn rejects a segment
        that frees nothing, unless it is marked."""
        inside = stored_bytes(graph, [n for n in nodes if n not in ends])
        trained = any(self.parameters[self.first_names[path]].requires_grad for path in self.first_names)
        return trained and inside > sum(map(bytes_of, ends)) and 2 * inside <= self.stored

    def constant_name(self, tensor, hint):
        """The name of an array that is loaded with the weights, and that is no tensor of the module."""
        name = next((n for n, t in self.constants.items() if t.shape == tensor.shape and torch.equal(t, tensor)), None)
        if name is None:
            name = unique([*(n.removeprefix('constants.') for n in self.constants), hint])[-1]
            name = f'constants.{name}'
            self.constants[name] = tensor.to(torch.float32).contiguous().clone()
        return name

    # ------------------------------------------------------------------ the graph

    def watched(self):
        """Runs the model, and reports what its graph does not show. Returns false if the model itself fails."""
        try:
            module = copy.deepcopy(self.original)
        except Exception as error:
            if not self.problems.found:
                self.problems.add(place_of_error(error), f'copy.deepcopy cannot copy the model ({first_line(error)})')
            return False
        wrapper = WithLoss(module, self.wrapper.loss, self.wrapper.accepted, lambda names: None)
        self.noted = watch.run(wrapper.train(), self.args, self.kwargs, self.problems)
        return self.noted is not None

    def exported(self):
        """The graphs of all modules, or None if torch.export refuses the model. If a model is refused because it reads
        numbers out of tensors, it is exported with these numbers, to find what else is wrong."""
        try:
            return self.export()
        except Exception as error:
            for where, text in self.noted.refusals:
                self.problems.add(where, text)
            where = place_of_error(error)
            if where not in self.problems.places() and (where or not self.problems.found):
                self.problems.add(where, explained(error))
        try:
            with watch.Replay(self.noted.numbers):
                return self.export()
        except Exception:
            return None

    def note_parameters(self, exported):
        """Finds the parameters that the program has: those on which the loss depends, or all outputs without a loss."""
        results = [r for r in exported.graph.output_node().args[0] if isinstance(r, torch.fx.Node)]
        names = {node: exported.graph_signature.inputs_to_parameters[node.name].removeprefix('model.')
                 for node in exported.graph.find_nodes(op='placeholder')
                 if node.name in exported.graph_signature.inputs_to_parameters}
        read = {self.first_names[name] for node, name in names.items() if node in reached(exported.graph, results)}
        has_loss = len(results) > len(self.output_names)
        self.used = {self.first_names[name] for node, name in names.items() if node in reached(
            exported.graph, results[-1:])} if has_loss else read
        for name in sorted(read - self.used):
            self.problems.add('', f'the parameter "{name}" changes an output and not the loss: let the model return only what '
                                  'the loss needs')

    def export(self):
        attributes = [(part, dict(part.__dict__)) for part in self.wrapper.modules()]
        silence = io.StringIO()  # torch.export prints the graph when it fails
        try:
            with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), \
                    arguments_marked(self.original):
                exported = torch.export.export(self.wrapper, self.args, self.kwargs, strict=False)
                self.note_parameters(exported)
                return torch.export.unflatten(exported)
        finally:
            for part, before in attributes:  # activations that forward assigned to attributes have no numbers
                part.__dict__.clear()
                part.__dict__.update(before)

    def read(self, history):
        """Exports the model, and reads its graph. Returns the body of the wrapper, or None if there are problems."""
        watch.check_settings(self.original, self.problems, history)
        watch.check_inputs(self.kwargs or {f'{i}': a for i, a in enumerate(self.args)}, self.problems)
        self.wrapper.train()
        with whole_traces():
            graph = self.exported() if self.watched() else None
        if graph is None:
            return None
        self.stored = stored_bytes(graph, graph.graph.nodes)
        body = Body('', self.original)
        placeholders = graph.graph.find_nodes(op='placeholder')
        names = self.input_names(placeholders)
        arguments = [self.input(name, node.meta['val']) for name, node in zip(names, placeholders)]
        try:
            results = Reader(self, graph, None, body).read(arguments)
        except Exception as error:
            if not self.problems.found:
                self.problems.add('', f'the importer cannot read the graph of this model ({first_line(error)})')
            return None
        self.check_results(results)
        if self.noted.error and not self.problems.found:
            self.problems.add(place_of_error(self.noted.error), 'the importer cannot watch the model here '
                              f'({first_line(self.noted.error)}): write this line with functions of torch')
        body.returned = [v.array for v in results if isinstance(v, Value)]
        self.outputs = dict(zip([*self.output_names, 'loss'], results))
        return None if self.problems.found else body

    def check_results(self, results):
        """Reports outputs that depend on nothing, and inputs on which no output depends."""
        for name, result in zip([*self.output_names, 'loss'], results):
            if isinstance(result, Unknown) and result.problem:
                self.problems.add(result.where, result.problem)
            elif isinstance(result, Constant):
                self.problems.add('', f'the output "{name}" is a constant: leave it out')
        read = set().union(*[read_by(v.array) for v in results if isinstance(v, Value)])
        for array in self.inputs:
            if array not in read and not self.problems.found:
                self.problems.add('', f'no output depends on the input "{array.name}": leave it out')

    def input_names(self, placeholders):
        """The names of the inputs: those of a dict, or those of the parameters of `forward`."""
        if self.kwargs:
            return [*self.kwargs]
        named = [p.name for p in inspect.signature(self.original.forward).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        places = [int(node.name.removeprefix('args_')) for node in placeholders]
        return [named[i] if i < len(named) else f'x_{i + 1}' for i in places]

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
