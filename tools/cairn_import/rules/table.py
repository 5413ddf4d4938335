"""What the rules of all operations share: their table, and how arrays broadcast."""

import torch

from cairn_import.text import ATOM, COMPARISON, PRODUCT, SUM, Number, Use, joined, literal, numbers
from cairn_import.value import Array, Constant, Value, in_order

TABLE = {}
MOST_ROWS = 2 ** 24  # A float holds each whole number up to here.
VIEWS = {'view', 'reshape', 'flatten', 'transpose', 'permute', 'select', 'slice', 'unsqueeze', 'squeeze', 'expand', 't',
         'alias', 'unflatten', 'view_as', 'expand_as', 'narrow', 'unbind', 'chunk', 'split', 'diagonal', 'contiguous',
         'detach', 'as_strided', 'mT'}


def rule(*names):
    def put(function):
        TABLE.update(dict.fromkeys(names, function))
        return function
    return put


def extents(shape, role='Extent'):
    return numbers(shape, role)


def pairs(values):
    """One number, or two, of a window."""
    values = [values] if isinstance(values, int) else list(values)
    return values[0] if len(set(values)) == 1 else tuple(values)


def braced(value, role):
    return [Number(role, value)] if isinstance(value, int) else ['{'] + numbers(value, role) + ['}']


def options(name, settings):
    """The pieces of `nn::window{.stride = 2}`: the settings that are not the default; nothing if all are."""
    out = [[f'.{key} = '] + (text if isinstance(text, list) else [text]) for key, text in settings if text is not None]
    return [f'{name}{{'] + joined(out) + ['}'] if out else []


def value_of(r, v, kind=None):
    """A value, also of a number or a constant tensor."""
    if isinstance(v, Value):
        return v
    if isinstance(v, (bool, int, float)):
        return Value(Array([literal(v)], (), 'number'), (), ())
    if isinstance(v, Constant):
        return constant(r, v.tensor, v.hint)
    return r.refuse(f'has an argument that is no tensor: {v!r}')


def without_equal_axes(tensor):
    """The tensor without the axes along which all elements are equal, and the place of each axis among those that are
    left, or None."""
    shape, kept = tensor.shape, []
    for axis, extent in enumerate(shape):
        first = tensor.narrow(axis, 0, 1)
        varies = extent > 1 and not bool(((tensor == first) | ((tensor != tensor) & (first != first))).all())
        tensor = tensor if varies else first
        kept.append(varies)
    at = iter(range(sum(kept)))
    return (tensor.reshape([e for e, varies in zip(shape, kept) if varies]),
            [next(at) if varies else None for varies in kept])


def is_whole(tensor):
    return not tensor.is_floating_point() and tensor.dtype != torch.bool


def are_positions(tensor):
    """Returns true if the elements are 0, 1, 2, ..."""
    return tensor.dim() == 1 and is_whole(tensor) and torch.equal(tensor.long(), torch.arange(len(tensor)))


def constant(r, tensor, hint='constant'):
    """A constant tensor as cairn says it: a number, positions, or a frozen array that is loaded with the weights. Axes
    along which all elements are equal are not stored."""
    tensor = tensor.detach()
    shape = tuple(tensor.shape)
    kept, places = without_equal_axes(tensor)
    if kept.dim() == 0 and kept.dtype.is_floating_point:
        return Value(Array([literal(kept.item())], (), 'number'), places, shape)
    if kept.dtype.is_floating_point:
        return Value(r.constant(kept, hint), places, shape)
    if kept.dtype == torch.bool and kept.dim() > 0:
        array = Array([Use(r.constant(kept.float(), hint)), ' > 0_c'], kept.shape, 'mask', COMPARISON, 'truth', 2)
        return Value(array, places, shape)
    if kept.dim() == 0:
        return Value(Array([literal(kept.item())], (), 'number', ATOM, 'number'), places, shape)
    return constant_indices(r, tensor, hint, int(tensor.max()) + 1)


def constant_indices(r, tensor, hint, rows):
    """Constant indices of a table with this number of rows: positions, or a frozen array that is read as indices."""
    kept, places = without_equal_axes(tensor)
    if are_positions(kept):
        return Value(Array(['arange<', Number('Extent', len(kept)), '>'], kept.shape, 'positions', ATOM, 'index',
                           len(kept)), places, tensor.shape)
    if int(tensor.min()) < 0:
        return r.refuse(f'takes a constant array of whole numbers as indices, and one of them is {int(tensor.min())}: convert '
                        'the array by float() to compute with it')
    if rows > MOST_ROWS:
        return r.refuse(f'constant indices are below {MOST_ROWS} in a program, and these are below {rows}: pass them to the '
                        'model as an input')
    numbers_ = Use(r.constant(kept.float(), hint)) if kept.dim() else literal(kept.item())
    pieces = ['as_indices<', Number('Bound', rows), '>(', numbers_, ')']
    return Value(Array(pieces, kept.shape, hint, ATOM, 'index', rows), places, tensor.shape)


def in_reals(v):
    """A constant array of whole numbers as one of real numbers, with which cairn computes. Positions stay as they are."""
    if not isinstance(v, Constant) or not is_whole(v.tensor):
        return v
    kept = without_equal_axes(v.tensor)[0]
    return v if kept.dim() == 0 or are_positions(kept) else Constant(v.tensor.float(), hint=v.hint)


def aligned(r, operands):
    """The arrays of several operands, so that they broadcast as in PyTorch; and how the result stores its axes."""
    values = [value_of(r, in_reals(v)) for v in operands]
    rank = max(len(v.stored) for v in values)
    for i, v in enumerate(values):
        while len(values[i].stored) < rank:
            values[i] = values[i].unsqueezed(0)
    shape = [max((v.shape[axis] for v in values), key=lambda e: (e != 1, e)) for axis in range(rank)]
    stored = [axis for axis in range(rank) if any(v.stored[axis] is not None for v in values)]
    whole = max(values, key=lambda v: (len(v.order), v.array.kind != 'number'))
    order = list(whole.order) if len(whole.order) == len(stored) else stored
    arrays = []
    for v in values:
        mine = [axis for axis in order if v.stored[axis] is not None]
        first = order.index(mine[0]) if mine else len(order)
        arrays.append(in_order(v, order[first:], with_equal=False))
    places = [order.index(axis) if axis in order else None for axis in range(rank)]
    result = [max(v.shape[axis] if v.stored[axis] is not None else 1 for v in values) for axis in order]
    return arrays, result, places, shape


def elementwise(r, operands, pieces, strength=ATOM, kind='real'):
    """`pieces` makes the expression of the arrays of the operands."""
    arrays, result, places, shape = aligned(r, operands)
    return Value(r.array(pieces(*arrays), result, strength, kind, 2 if kind == 'truth' else None), places, shape)


def infix(symbol, strength, kind='real'):
    def apply(r, *operands):
        has_whole = [isinstance(v, Constant) and is_whole(v.tensor) for v in operands]
        operands = [value_of(r, in_reals(v)) for v in operands]
        if kind == 'real' and not any(v.array.kind == 'real' and v.array.hint != 'number' and not whole
                                      for v, whole in zip(operands, has_whole)):
            return r.refuse('computes with whole numbers or truth values: bind what it computes, or compute it in real numbers')
        operands = [as_real(r, v) for v in operands]
        return elementwise(r, operands, lambda x, y: [Use(x, f'left {strength}'), f' {symbol} ',
                                                      Use(y, f'right {strength}')], strength, kind)
    return apply


def as_real(r, v):
    """Whole numbers and truth values as real numbers, as PyTorch converts them where they meet real numbers."""
    if v.array.kind not in ('index', 'truth'):
        return v
    return elementwise(r, [v], lambda x: ['as_real(', Use(x), ')'])


equal = infix('==', COMPARISON, 'truth')
plus, minus, times, over = infix('+', SUM), infix('-', SUM), infix('*', PRODUCT), infix('/', PRODUCT)


def scaled(r, v, factor):
    """A multiple of a value. A multiple of a multiple is one product."""
    base = v
    if isinstance(v, Value) and v.array.multiple_of:
        base, factor = v.array.multiple_of[0], factor * v.array.multiple_of[1]
    if factor == 1:
        return base
    out = times(r, factor, base)
    out.array.multiple_of = base, factor
    return out
