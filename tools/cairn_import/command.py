"""Imports one model: reads it, and writes all files, or none."""

import importlib.util
import inspect
import os
import re
import sys

import safetensors.torch
import torch

from cairn_import import numbers
from cairn_import.model import Model, checkpoints_marked
from cairn_import.programs import Programs


def load(source):
    """Calls the user's function: `FILE.py:FUNCTION`."""
    path, _, name = source.rpartition(':')
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return getattr(module, name)()


def model_of(options):
    made = load(options.source)
    made = made if isinstance(made, tuple) else (made,)
    module, inputs = made[0], made[1] if len(made) > 1 else None
    loss = made[2] if len(made) > 2 else None
    if inputs is None:
        inputs = (torch.randn([int(n) for n in options.input.split(',')]),)
    if options.labels is not None:
        parameters = list(inspect.signature(module.forward).parameters)
        named = dict(zip(parameters, inputs)) if isinstance(inputs, tuple) else dict(inputs)
        first = next(iter(named.values()))
        inputs = named | {'labels': torch.randint(0, options.labels, (first.shape[0],))}
        loss = lambda outputs, given: torch.nn.functional.cross_entropy(outputs, given['labels'])
    inputs = inputs if isinstance(inputs, dict) else tuple(inputs)
    accepted = None
    if isinstance(inputs, dict):
        parameters = inspect.signature(module.forward).parameters.values()
        takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters)
        accepted = [n for n in inputs if takes_all and not (n == 'labels' and options.labels) or n in {p.name for p in parameters}]
    args, kwargs = (inputs, {}) if isinstance(inputs, tuple) else ((), inputs)
    return Model(module, args, kwargs, loss, options.ckpt, accepted)


def weights(model, root):
    """The tensors of the program, by their names there, and the other tensors of the module's state."""
    state = {n: t for n, t in model.original.state_dict().items() if model.first_names.get(n, n) == n}
    used = {n for n in state if n in model.parameters or n.rpartition('.')[0] in model.norms}
    rest = {n: t for n, t in state.items() if n not in used and not n.endswith('num_batches_tracked')}
    return {n: state[n] for n in used if not n.endswith('num_batches_tracked')} | model.constants, rest


def save(folder, name, tensors):
    safetensors.torch.save_file({n: t.detach().contiguous().clone() for n, t in tensors.items()},
                                os.path.join(folder, name + '.safetensors'))


def run(options):
    if options.fit:
        options.fit = re.sub(r'([KMG])iB', r'_\1iB', options.fit)
    torch.set_num_threads(1)  # several threads wait for each other by spinning, for minutes on a busy machine
    with checkpoints_marked():
        model = model_of(options)
        root = model.read()
    if model.problems.found:
        lines = model.problems.lines()
        return '\n'.join([*lines, f'cairn-import: {len(lines)} problems, and nothing is written'])
    programs = Programs(model, root, options)
    has_training = programs.has_loss and not numbers.is_random(model.original)
    files = programs.files(has_training)
    notes = []
    arrays = numbers.arrays(model, list(model.outputs), notes)
    os.makedirs(options.out, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(options.out, name), 'w') as file:
            file.write(text)
    in_program, rest = weights(model, root)
    save(options.out, 'weights', in_program)
    if rest:
        save(options.out, 'rest', rest)
        notes.append('rest.safetensors has the tensors of the module that the program does not need. To load a trained file '
                     'in PyTorch, join both')
    numbers.save(os.path.join(options.out, 'numbers'), arrays)
    for note in notes:
        print(f'cairn-import: {note}')
    print(f'cairn-import: wrote {", ".join(files)}, weights.safetensors and numbers/ to {options.out}')
    return 0
