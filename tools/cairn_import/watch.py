"""Finds what an exported graph does not show: settings of the model, and what its Python code does while it runs.

An export follows the operations of one call. Hooks, gradients inside of the model, functions with a backward pass of
their own and numbers that leave PyTorch are not part of a graph, so a graph without them would compute something else
in silence. The model is therefore run before it is exported, and what it calls is noted.
"""

import contextlib
import inspect
import sys
from unittest import mock

import torch
import torch.utils.checkpoint
from torch._functorch import eager_transforms as transforms
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from cairn_import.problem import BRANCH, CHANGED, DATA, NUMPY, SHAPE, first_line, here, is_own, listed, place_of_error, \
    place_of_function, torch_name

HOOKS = {'_forward_pre_hooks': 'a forward pre-hook', '_forward_hooks': 'a forward hook',
         '_backward_pre_hooks': 'a backward pre-hook', '_backward_hooks': 'a backward hook'}
GRADIENTS = ('the model computes gradients in its forward: export would lose how they depend on the parameters; import '
             "the model without them, and write them in C++ with cairn's grad")
HOOKED = ('a hook on a tensor changes gradients, which cairn cannot follow: write what it does as an operation of the '
          'forward')
CALLS = {
    torch.Tensor.register_hook: HOOKED,
    torch.Tensor.register_post_accumulate_grad_hook: HOOKED,
    torch.Tensor.retain_grad: 'retain_grad keeps the gradient of an activation, which cairn does not: remove the call, '
                              'and use grad in C++',
    torch.Tensor.requires_grad_: 'requires_grad_ has no counterpart inside of a model: freeze parameters before the '
                                 'model is returned, and use detach() for activations',
    torch.Tensor.backward: GRADIENTS, torch.autograd.grad: GRADIENTS, torch.autograd.backward: GRADIENTS,
}
# Export refuses these, too, unless they read constants.
LEAVES = {torch.Tensor.numpy: NUMPY, torch.Tensor.__array__: NUMPY, torch.Tensor.data.__get__: DATA}


class History:
    """Where the user's function registered hooks and called eval(), for messages about settings that have no line."""

    def __init__(self):
        self.hooks, self.evaluations = {}, {}

    @contextlib.contextmanager
    def taken(self):
        handle, train = torch.utils.hooks.RemovableHandle.__init__, torch.nn.Module.train

        def register(registered, *args, **kwargs):
            handle(registered, *args, **kwargs)
            self.hooks[registered.id] = here()

        def switch(module, mode=True):
            if not mode:
                self.evaluations[id(module)] = here()
            return train(module, mode)

        with mock.patch.object(torch.utils.hooks.RemovableHandle, '__init__', register), \
                mock.patch.object(torch.nn.Module, 'train', switch):
            yield


def own_name(name):
    """The name in the user's module, which the wrapper with the loss calls "model"."""
    return name.removeprefix('model').removeprefix('.')


def named(name):
    return f'the module "{name}"' if name else 'the model'


def check_settings(module, problems, history):
    """Reports settings of the model that no graph shows. The model keeps its modes."""

    def check_hooks(hooks, whose, kind):
        for key, hook in (hooks or {}).items():
            what = getattr(hook, '__qualname__', None) or type(hook).__qualname__
            if not what.endswith('make_inputs_require_grads'):  # reentrant checkpoints need this one; it changes no number
                problems.add(history.hooks.get(key, '') or place_of_function(hook),
                             f'{whose} has {kind} ({what}), which cairn cannot call: write what it does in forward')

    for attribute, kind in HOOKS.items():
        check_hooks(getattr(torch.nn.modules.module, '_global' + attribute), 'each module', kind)
    for name, parameter in module.named_parameters():
        for hooks in (parameter._backward_hooks, parameter._post_accumulate_grad_hooks):
            check_hooks(hooks, f'the parameter "{name}"', 'a hook')
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.lazy.LazyModuleMixin) and part.has_uninitialized_params():
            problems.add('', f'{named(name)} has lazy parameters without a shape: call the model once before it is returned')
            continue
        for attribute, kind in HOOKS.items():
            check_hooks(getattr(part, attribute), named(name), kind)
        if not part.training and module.training:
            problems.add(history.evaluations.get(id(part), '') or place_of_function(part),
                         f'{named(name)} is in evaluation mode while the model trains: call train() on it, or replace it '
                         'by what it computes in evaluation')
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.track_running_stats and part.momentum is None:
            problems.add('', f'the batch norm "{name}" has momentum=None, an average over all steps, which cairn lacks: '
                             'give it a number, such as momentum=0.1')
            part.momentum = 0.1  # the export then finds what else is wrong
    others = {}
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.dtype != torch.float32 and (tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized):
            others.setdefault(tensor.dtype, []).append(name)
    for dtype, names in others.items():
        more = f' and {len(names) - 1} more' if len(names) > 1 else ''
        problems.add('', f'"{names[0]}"{more} of the model: {dtype} has no counterpart here; return model.float(), and '
                         'choose another precision in C++, with mixed<bf16> or real<double>')


def check_inputs(inputs, problems):
    """Reports example inputs of a kind that cannot be bound. A number, a string, True or None is a setting."""
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            real = value.is_floating_point()
            if value.is_complex() or value.is_sparse or real and value.dtype != torch.float32:
                kind = 'sparse' if value.is_sparse else value.dtype
                problems.add('', f'the input "{name}" is {kind}: pass it as a dense tensor of float32 or of whole numbers')
            elif not real and value.dtype != torch.bool and value.numel() and int(value.min()) < 0:
                problems.add('', f'the input "{name}" has the number {int(value.min())}, and indices of cairn are not negative: '
                                 'give ignored labels the number of classes as their label, and the loss '
                                 'ignore_index=classes')
        elif not isinstance(value, (bool, int, float, str, type(None))):
            problems.add('', f'the input "{name}" is a {type(value).__name__}: pass each of its tensors as an input')


def is_called_directly(depth):
    """Returns true if the user's source, and no function of PyTorch, made the call that a mode sees. `depth` is that of the
    mode's caller."""
    frame = sys._getframe(depth)
    glue = ('_tensor.py', 'overrides.py', '_contextlib.py', 'autograd/__init__.py', 'watch.py')
    while frame and frame.f_code.co_filename.endswith(glue):
        frame = frame.f_back
    return frame is not None and is_own(frame.f_code.co_filename)


READS = {torch.Tensor.__bool__, torch.Tensor.__int__, torch.Tensor.__float__, torch.Tensor.__index__, torch.Tensor.item,
         torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}


class Watch(TorchFunctionMode):
    """Notes calls of functions of torch while the model runs. `numbers` are those that the model reads out of tensors.
    `error` says why the model could not be watched to its end, which is a problem if nothing else is one."""

    def __init__(self, problems):
        super().__init__()
        self.error = None
        self.problems, self.refusals, self.numbers = problems, [], []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        is_idle = function is torch.Tensor.requires_grad_ and args[0].requires_grad
        if function in CALLS and is_called_directly(2) and not is_idle:
            self.problems.add(here(), CALLS[function])
        elif function in LEAVES and is_called_directly(2):
            self.refusals.append((here(), LEAVES[function]))
        out = function(*args, **(kwargs or {}))
        if function in READS:
            self.numbers.append(out)
        return out


class Replay(TorchFunctionMode):
    """Gives a model that is exported the numbers that it read when it ran, so that export can go on."""

    def __init__(self, numbers):
        super().__init__()
        self.numbers = iter(numbers)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return next(self.numbers) if function in READS else function(*args, **(kwargs or {}))


class Results(TorchDispatchMode):
    """Notes operations whose result decides what runs next. They are a problem only if export refuses them, because
    the model may read constants in this way."""
    supports_higher_order_operators = True

    def __init__(self, refusals):
        super().__init__()
        self.refusals = refusals

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not isinstance(function, torch._ops.OpOverload):
            return function(*args, **(kwargs or {}))
        if torch.Tag.data_dependent_output in function.tags:
            self.refusals.append((here(), BRANCH))
        if torch.Tag.dynamic_output_shape in function.tags and (
                function is not torch.ops.aten.index.Tensor or any(
                    i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])):
            self.refusals.append((here(), SHAPE.format(torch_name(function))))
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def functions_watched(problems, module, kept, assigned):
    """Notes what no mode sees: custom functions, inference mode, and assignments to attributes of modules."""
    apply = inspect.getattr_static(torch.autograd.Function, 'apply')
    enter, assign = torch.inference_mode.__enter__, torch.nn.Module.__setattr__
    inside = next(n for n in ('_checkpoint_impl', '_checkpoint_without_reentrant_generator') if hasattr(
        torch.utils.checkpoint, n))  # what checkpoint calls, by the version of PyTorch
    calls = getattr(torch.utils.checkpoint, inside)
    nest = transforms._grad_increment_nesting
    names = {id(part): own_name(name) for name, part in module.named_modules()}
    missed = ('a checkpoint is called by a reference that was made before the importer started: call '
              'torch.utils.checkpoint.checkpoint by its name')

    def noting_apply(cls, *args, **kwargs):
        if issubclass(cls, torch.utils.checkpoint.CheckpointFunction):
            problems.add(here(), missed)
        elif not cls.__module__.startswith('torch.'):
            problems.add(here(), f'{cls.__qualname__} is an autograd.Function with a backward of its own, which export '
                                 'loses: write it with functions of torch, whose derivative is the right one')
        return apply.__get__(None, cls)(*args, **kwargs)

    def noting_checkpoint(*args, **kwargs):
        problems.add(here(), missed)
        return calls(*args, **kwargs)

    def noting_enter(self):
        if is_called_directly(2):
            problems.add(here(), 'inference_mode inside of the model stops gradients, which export loses: call detach() on '
                                 'the result instead')
        return enter(self)

    def noting_nesting(*args):
        problems.add(here(), GRADIENTS)
        return nest(*args)

    def noting_assign(part, name, value):
        before = part.__dict__.get(name)
        assign(part, name, value)
        if id(part) not in names:
            return
        if isinstance(value, (int, float)) and isinstance(before, (int, float)) and value != before:
            problems.add(here(), f'{named(names[id(part)])} changes its attribute {name} in each call, which a program of '
                                 'cairn does not: make it a constant, or pass it as an input')
        elif isinstance(value, torch.Tensor) and name in part._buffers:
            assigned['.'.join(filter(None, [names[id(part)], name]))] = here()
        elif isinstance(value, torch.Tensor):
            kept.append((here(), f'{named(names[id(part)])} keeps {name} for its next call: pass it as an input, and '
                                 'return its new value'))

    with mock.patch.object(torch.autograd.Function, 'apply', classmethod(noting_apply)), \
            mock.patch.object(torch.inference_mode, '__enter__', noting_enter), \
            mock.patch.object(torch.nn.Module, '__setattr__', noting_assign), \
            mock.patch.object(transforms, '_grad_increment_nesting', noting_nesting), \
            mock.patch.object(torch.utils.checkpoint, inside, noting_checkpoint):
        yield


def problem_of_loss(loss):
    """Why a program cannot train with this loss, or None."""
    if not isinstance(loss, torch.Tensor):
        return f'is a {type(loss).__name__}: return one tensor, without item()'
    if loss.dim() > 0:
        return f'has shape {tuple(loss.shape)}: return one number, such as its mean'
    return None if loss.requires_grad else ('depends on no parameter that requires a gradient: compute it from the outputs, or '
                                            'return no loss')


def described(outputs, inputs):
    """What a loss gets, for a message."""
    fields = getattr(outputs, '_fields', None) or (list(outputs) if hasattr(outputs, 'keys') else [])
    what = (f'outputs of shape {tuple(outputs.shape)}' if isinstance(outputs, torch.Tensor) else 'outputs with ' + listed(
        [f'"{name}"' for name in fields]) if fields else f'outputs that are a {type(outputs).__name__}')
    named = inputs.items() if hasattr(inputs, 'items') else enumerate(inputs)
    given = [f'{name!r}'.replace("'", '"') + (f' with whole numbers up to {int(t.max())}' if isinstance(t, torch.Tensor) and
             not t.is_floating_point() and t.dtype != torch.bool and t.numel() else '') for name, t in named]
    return f'{what}, and the input{"s" * (len(given) > 1)} {listed(given)}'


def equal(first, second):
    both = zip(pytree.tree_leaves(first), pytree.tree_leaves(second))
    return all(a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6, equal_nan=True) for a, b in both)


def run(wrapper, args, kwargs, problems):
    """Runs a copy of the model twice, from the same numbers. Returns what was noted, or None if the model itself fails."""
    noted, kept, assigned, results, names = Watch(problems), [], {}, [], []
    wrapper.note_names = names.extend
    buffers = {name: buffer.clone() for name, buffer in wrapper.named_buffers()}

    def call():
        given = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        with torch.no_grad():
            for name, buffer in wrapper.named_buffers():
                if name in buffers:
                    buffer.copy_(buffers[name])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            results.append(wrapper(*given[0], **given[1]))

    try:
        call()
        problem = problem_of_loss(results[0][-1]) if len(results[0]) > len(names) else None
        if problem:
            problems.add(place_of_function(wrapper.loss), f'the loss {problem}')
            return None
        trained = [t.sum() for t in results[0] if t.requires_grad]
        if trained:
            sum(trained).backward()
    except Exception as error:
        arguments = getattr(error, 'arguments_of_loss', None)
        problems.add(place_of_error(error), f'the loss fails here ({first_line(error)}): it gets {described(*arguments)}'
                     if arguments else f'the model itself fails here ({first_line(error)}): correct it first')
        return None if not results else noted
    try:
        with functions_watched(problems, wrapper, kept, assigned), noted, Results(noted.refusals):
            call()
    except Exception as error:
        noted.error = error
        return noted
    norms = [m for m in wrapper.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    states = {id(buffer) for norm in norms for buffer in norm.buffers(recurse=False)}
    for name, buffer in wrapper.named_buffers():
        if id(buffer) not in states and name in buffers and not equal(buffer, buffers[name]):
            problems.add(assigned.get(own_name(name), ''), CHANGED.format('buffer', own_name(name)))
    if not equal(*results):
        for where, text in kept:
            problems.add(where, text)
        if not problems.found:
            problems.add('', 'a second call of the model with the same inputs gives another result: pass what it remembers '
                             'as an input')
    return noted
