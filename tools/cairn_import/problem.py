"""What cannot be imported, with the places in the user's source."""

import os
import re
import sys
import sysconfig
import traceback

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
START = OWN + 'command.py'  # calls the user's function, and runs the model
TORCH = os.path.dirname(torch.__file__) + os.sep
PYTHON = sysconfig.get_path('stdlib') + os.sep

BRANCH = ('the program depends on a number that is read out of a tensor: use torch.where in place of a branch, keep the '
          'number a tensor in place of item(), or make it a setting of the model')
SHAPE = ('the shape of {} depends on the numbers in a tensor: keep all elements, and multiply by a mask or use '
         'torch.where')
LACKING = '{} has no counterpart in cairn: {}'
MISSING = LACKING.format('{}', 'write it with other functions of torch')
CURES = {  # what to write in place of functions that cairn lacks
    ('median', 'kthvalue', 'quantile'): 'sort, and take an element of x.sort(dim).values',
    ('prod', 'cumprod'): 'of numbers above 0, write torch.exp of the sum, or cumsum, of torch.log(x)',
    ('cdist', 'pdist', '_cdist_forward'): 'write torch.linalg.vector_norm(x[:, None] - y[None], dim=-1)',
    ('expm1',): 'write torch.exp(x) - 1, which loses digits near 0',
    ('erfc',): 'write 1 - torch.erf(x), which loses digits where it is small',
    ('sinh', 'cosh'): 'write it with torch.exp(x) and torch.exp(-x)',
    ('remainder', 'fmod', 'floor_divide'): 'write x - torch.floor(x / y) * y',
    ('hypot',): 'write torch.sqrt(x * x + y * y)',
    ('logaddexp',): 'write torch.logsumexp(torch.stack([x, y]), 0)',
    ('fmax', 'fmin'): 'write torch.maximum or torch.minimum',
    ('diagonal', 'trace'): 'multiply by torch.eye(n), and sum over an axis',
    ('index_put', 'index_copy', 'index_fill', 'masked_scatter', 'scatter_reduce'):
        'choose with torch.where, or add with scatter_add',
    ('im2col', 'col2im', 'unfold'): 'a convolution reads windows itself; of few windows, stack slices',
    ('as_strided',): 'write it with reshape, slices and torch.cat',
    ('embedding_bag',): 'call F.embedding, and take the mean over an axis',
    ('bilinear',): 'write torch.einsum("bi,oij,bj->bo", x, weight, y)',
    ('histc',): 'sum F.one_hot(indices, n) over the indices',
    ('searchsorted', 'bucketize'): 'count with (x[..., None] > boundaries).sum(-1)',
    ('upsample_bicubic2d',): 'use mode="bilinear"'}
NUMPY = 'the values leave PyTorch, and so does their gradient: compute with functions of torch in place of numpy'
RANDOM = ('{} draws random numbers, which cairn draws differently: pass them to the model as an input, or use '
          'nn.Dropout')
DATA = 'x.data leaves the graph of the model: call x.detach() instead'
CHANGED = ('forward changes the {} "{}", which in cairn only batch norms do: pass it as an input, and return its new '
           'value')
COMPLEX = 'complex numbers have no counterpart in cairn: compute with the real and the imaginary parts'


class Problems:
    """All that was found. They are reported together, and nothing is written if there is one. `source` is the place of
    the user's function, which stands for what no line of the model shows."""

    def __init__(self):
        self.found, self.source = {}, ''

    def add(self, where, text):
        """`where` is a node of the graph or a place. A line is reported once, however often it is found."""
        self.found.setdefault((where if isinstance(where, str) else place(where), text), None)

    def places(self):
        return {where for where, _ in self.found}

    def lines(self):
        """A line for each problem, in the order of the source. Files below the current folder have relative names."""
        known = {text for where, text in self.found if where}
        found = [(where or self.source, text) for where, text in self.found if where or text not in known]

        def order(line):
            file, _, number = line[0].rpartition(':')
            return file, int(number) if number.isdigit() else 0
        return [f'{where.removeprefix(os.getcwd() + os.sep)}: {text}' for where, text in sorted(found, key=order)]


def is_own(file):
    """Returns true for a file of the user or of a library, and false for PyTorch, Python and the importer."""
    outside = file.startswith(('<', OWN, TORCH)) or file.endswith('typing_extensions.py')
    return not outside and (not file.startswith(PYTHON) or '-packages' in file)


def place(node):
    """The file and line of the innermost frame outside of PyTorch that led to this node of the graph."""
    frames = [match for match in FRAME.finditer(node.meta.get('stack_trace') or '' if node else '')]
    own = [match for match in frames if is_own(match['file'])] or frames
    return f'{own[-1]["file"]}:{own[-1]["line"]}' if own else ''


def here():
    """The file and line of the user's source that runs now."""
    frame = sys._getframe(1)
    while frame and not is_own(frame.f_code.co_filename) and frame.f_code.co_filename != START:
        frame = frame.f_back
    return f'{frame.f_code.co_filename}:{frame.f_lineno}' if frame and is_own(frame.f_code.co_filename) else ''


def user_frames(frames):
    """The frames of the user's source, without those from which the importer was called."""
    begin = max((i for i, frame in enumerate(frames) if frame.filename == START), default=-1) + 1
    return [frame for frame in frames[begin:] if is_own(frame.filename)]


def place_of_error(error):
    """The innermost line of the user's source through which an exception passed."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if is_own(frame.filename)]
    return f'{own[-1].filename}:{own[-1].lineno}' if own else ''


def place_of_function(function):
    """The first line of a function or of the `forward` of a module, or nothing if its source is not the user's."""
    function = getattr(function, 'forward', function)
    code = getattr(getattr(function, '__func__', function), '__code__', None)
    return f'{code.co_filename}:{code.co_firstlineno}' if code and is_own(code.co_filename) else ''


def source_line(node):
    """The line of the user's `forward` that made this node, for the names of variables."""
    lines = (node.meta.get('stack_trace') or '').split('\n')
    frames = [(FRAME.search(line), text.strip()) for line, text in zip(lines, lines[1:])]
    own = [text for match, text in frames if match and is_own(match['file']) and match['function'] == 'forward']
    return own[-1] if own else ''


def torch_name(function):
    """The name under which the user knows an operation."""
    name = function.overloadpacket.__name__.strip('_')
    return {'index': 'indexing by a mask'}.get(name, f'torch.{name.removesuffix("2") if name == "unique2" else name}')


def missing(function):
    """Says that an operation has no counterpart, and what to write instead."""
    name = function._schema.name.removeprefix('aten::')
    if torch.Tag.nondeterministic_seeded in function.tags:
        return RANDOM.format(f'torch.{name}')
    cure = next((cure for names, cure in CURES.items() if name.rstrip('_') in names), 'write it with other functions of torch')
    return LACKING.format(f'torch.{name}', cure)


def listed(words):
    """A list as it stands in a sentence: `a, b and c`."""
    return ' and '.join(filter(None, [', '.join(words[:-1]), *words[-1:]]))


def first_line(error):
    text = str(error).strip().split('\n')[0]
    text = text if len(text) < 160 else text[:160] + ' ...'
    return f'{type(error).__name__}: {text}' if text else type(error).__name__


def explained(error):
    """Why torch.export refuses a model, and what to do."""
    if isinstance(error, DynamicOutputShapeException):
        return SHAPE.format(f'torch.{error.func.overloadpacket.__name__}')
    if isinstance(error, (GuardOnDataDependentSymNode, DataDependentOutputException)):
        return BRANCH
    if '.numpy()' in str(error):
        return NUMPY
    if 'found a fake tensor' in str(error):
        return DATA
    return f'torch.export cannot follow the model here ({first_line(error)}): write this line with functions of torch'
