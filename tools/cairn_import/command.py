"""Imports one model: reads it, and writes all files, or none."""

import ast
import importlib.util
import inspect
import os
import re
import sys

import safetensors.torch
import torch

from cairn_import import numbers
from cairn_import.model import Model, checkpoints_marked, matches
from cairn_import.problem import Problems, first_line, listed, place_of_error, place_of_function
from cairn_import.programs import Programs
from cairn_import.text import quoted
from cairn_import.watch import History


def functions_of(path):
    """The functions of a file, as words: `make` and `small`."""
    with open(path, 'rb') as file:
        parsed = ast.parse(file.read(), path)
    return listed([f'`{node.name}`' for node in parsed.body if isinstance(node, ast.FunctionDef)]) or 'none'


def load(source, problems):
    """Calls the user's function: `FILE.py:FUNCTION`. Returns None if that fails."""
    path, _, name = source.rpartition(':') if not os.path.isfile(source) else (source, '', '')
    if not os.path.isfile(path):
        problems.add(source, f'there is no file {path or name}: give FILE.py:FUNCTION')
        return None
    problems.source = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(problems.source))
    what = 'the file'
    try:
        known = functions_of(path)
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], problems.source)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        if not name:
            problems.add('', f'give FILE.py:FUNCTION; the functions of the file are {known}')
            return None
        function = getattr(module, name, None)
        if not callable(function):
            problems.add('', f'the file has no function {name}; its functions are {known}')
            return None
        what, problems.source = name, place_of_function(function) or problems.source
        needed = [p.name for p in inspect.signature(function, follow_wrapped=False).parameters.values()
                  if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if needed:
            problems.add('', f'{name} has the parameter{"s" * (len(needed) > 1)} {listed(needed)}, and is called without '
                             'arguments: write a function that calls it')
            return None
        return function()
    except SyntaxError as error:
        problems.add(f'{error.filename}:{error.lineno}', f'the file is not Python ({first_line(error)}): correct it first')
    except ImportError as error:
        problems.add(place_of_error(error), f'{what} fails here ({first_line(error)}): install the package for the Python '
                                            f'that runs cairn-import, which is {sys.executable}')
    except Exception as error:
        problems.add(place_of_error(error), f'{what} fails here ({first_line(error)}): correct it first')
    return None


def model_of(options, problems):
    """The user's model with its inputs and its loss, or None if something of them is missing."""
    made = load(options.source, problems)
    if problems.found:
        return None
    made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    module, inputs = made[0], made[1] if len(made) > 1 else None
    loss = made[2] if len(made) > 2 else None
    if not isinstance(module, torch.nn.Module) or len(made) > 3:
        what = f'{len(made)} values' if len(made) > 3 else 'nothing' if module is None else (
            f'a {type(module).__name__} as the model')
        problems.add('', f'the function returns {what}: return an nn.Module, example inputs and, if you like, a loss')
    elif any(isinstance(m, torch.jit.ScriptModule) or hasattr(m, '_orig_mod') for m in module.modules()):
        problems.add('', 'the model, or a module in it, is compiled: return the nn.Module of which it was made')
    elif inputs is None and not options.input:
        problems.add('', 'the function returns no example inputs: return them behind the model, or give --input 32,3,224,224')
    elif loss is not None and not callable(loss):
        problems.add('', f'the loss is a {type(loss).__name__}: return a function of the outputs and the inputs')
    elif inputs is None and not re.fullmatch(r'\d+(,\d+)*', options.input):
        problems.add('', f'--input {options.input} is no shape: give whole numbers, such as 32,3,224,224')
    elif inputs is not None and not isinstance(inputs, (tuple, list)) and not hasattr(inputs, 'keys'):
        problems.add('', f'the example inputs are a {type(inputs).__name__}: return a tuple or a dict of tensors')
    if problems.found:
        return None
    if inputs is None:
        inputs = (torch.randn([int(n) for n in options.input.split(',')]),)
    inputs = dict(inputs) if hasattr(inputs, 'keys') else tuple(inputs)
    if options.labels is not None:
        parameters = list(inspect.signature(module.forward).parameters)
        named = dict(zip(parameters, inputs)) if isinstance(inputs, tuple) else dict(inputs)
        first = next(iter(named.values()))
        inputs = named | {'labels': torch.randint(0, options.labels, (first.shape[0],))}
        loss = lambda outputs, given: torch.nn.functional.cross_entropy(outputs, given['labels'])
    accepted = None
    if isinstance(inputs, dict):
        parameters = inspect.signature(module.forward).parameters.values()
        own = [p.name for p in parameters if p.name in inputs]
        inputs = {name: inputs[name] for name in [*own, *inputs]}  # those of forward first, in their order
        takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters)
        accepted = [n for n in inputs if takes_all and not (n == 'labels' and options.labels) or n in {p.name for p in parameters}]
    args, kwargs = (inputs, {}) if isinstance(inputs, tuple) else ((), inputs)
    check_call(module, inputs, accepted, problems)
    unread = [quoted(n) for n in kwargs if n not in accepted]
    if unread and loss is None:
        problems.add('', f'forward has no parameter {listed(unread)}, and there is no loss that reads it')
    if problems.found:
        return None
    return Model(module, args, kwargs, loss, options.ckpt, problems, accepted)


def check_call(module, inputs, accepted, problems):
    """Reports example inputs that `forward` cannot take, and tensors that the importer cannot."""
    named = inputs if isinstance(inputs, dict) else dict(enumerate(inputs))
    own = {n: named[n] for n in accepted} if accepted is not None else {}
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*(inputs if accepted is None else ()), **own)
    except TypeError as error:
        given = listed([quoted(n) for n in inputs]) if accepted is not None else f'a tuple of {len(inputs)}'
        problems.add('', f'forward takes {listed([quoted(n) for n in signature.parameters]) or "no arguments"}, and the '
                         f'example inputs are {given} ({error})')
    for name, value in named.items():
        if isinstance(value, torch.Tensor) and value.device.type != 'cpu':
            problems.add('', f'the input "{name}" is on the device {value.device}: return a tensor of the CPU')
        elif isinstance(value, torch.Tensor) and value.requires_grad:
            problems.add('', f'the input "{name}" requires a gradient: return it without one, and ask for its gradient in C++, '
                             'with grad')
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.device.type != 'cpu':
            return problems.add('', f'"{name}" of the model is on the device {tensor.device}: return model.cpu()')


def weights(model, root):
    """The tensors of the program, by their names there, and the other tensors of the module's state."""
    state = {n: t for n, t in model.original.state_dict().items() if model.first_names.get(n, n) == n}
    used = {n for n in state if n in model.used or n not in model.parameters and n.rpartition('.')[0] in model.norms}
    rest = {n: t for n, t in state.items() if n not in used and not n.endswith('num_batches_tracked')}
    return {n: state[n] for n in used if not n.endswith('num_batches_tracked')} | model.constants, rest


def save(folder, name, tensors):
    # save_file would make a file that only its owner can read
    data = safetensors.torch.save({n: t.detach().contiguous().clone() for n, t in tensors.items()})
    with open(os.path.join(folder, name + '.safetensors'), 'wb') as file:
        file.write(data)


def report(problems):
    lines = problems.lines()
    count = f'{len(lines)} problem' + ('s' if len(lines) > 1 else '')
    return '\n'.join([*lines, f'cairn-import: {count}, and nothing is written'])


def run(options):
    if options.fit:
        size = re.fullmatch(r'(\d+)([KMG]iB)', options.fit)
        if not size:
            return f'cairn-import: --fit {options.fit} is no size: give a whole number of KiB, MiB or GiB, such as 64MiB'
        options.fit = f'{size[1]}_{size[2]}'
    torch.set_num_threads(1)  # several threads wait for each other by spinning, for minutes on a busy machine
    problems, history = Problems(), History()
    with checkpoints_marked(problems):
        with history.taken():
            model = model_of(options, problems)
        root = model.read(history) if model else None
    for pattern in options.ckpt if model else []:
        if not any(matches(name, pattern) for name, _ in model.original.named_modules()):
            problems.add('', f'no module has a name like the pattern "{pattern}" of --ckpt: a star stands for one name')
    if problems.found:
        return report(problems)
    programs = Programs(model, root, options)
    has_training = programs.has_loss and not numbers.is_random(model)
    files = programs.files(has_training)
    notes = []
    try:
        arrays = numbers.arrays(model, list(model.outputs), notes)
    except Exception as error:
        problems.add(place_of_error(error), f'the model fails in evaluation mode or in double ({first_line(error)}): let it '
                                            'take the dtype of its parameters')
        return report(problems)
    os.makedirs(options.out, exist_ok=True)
    of_earlier = os.path.join(options.out, 'rest.safetensors')
    if os.path.exists(of_earlier):
        os.remove(of_earlier)
    if os.path.exists(os.path.join(options.out, 'train.cpp')):
        files.pop('train.cpp', None)
        notes.append('train.cpp is there already, and stays as it is')
    for name, text in files.items():
        with open(os.path.join(options.out, name), 'w') as file:
            file.write(text)
    in_program, rest = weights(model, root)
    save(options.out, 'weights', in_program)
    if rest:
        save(options.out, 'rest', rest)
        notes.append('rest.safetensors has the tensors of the module that are no parameters of the program; '
                     'docs/from-pytorch-model.md has a function that loads both files in PyTorch')
    save(options.out, 'numbers', arrays)
    for note in notes:
        print(f'cairn-import: {note}')
    print(f'cairn-import: wrote {", ".join(files)}, weights.safetensors and numbers.safetensors to {options.out}')
    return 0
