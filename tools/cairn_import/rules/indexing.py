"""Elements and rows at indices."""

import math

import torch

from cairn_import.rules.shapes import axis_of, dropped, shaped, sliced
from cairn_import.rules.table import TABLE, are_positions, constant_indices, rule, scaled, value_of, \
    without_equal_axes
from cairn_import.text import ATOM, Use
from cairn_import.value import Constant, Value, in_order, plain, require_bound


def part_of(index):
    """The first of constant indices that follow one another, and the one behind the last; or None."""
    if not isinstance(index, Constant):
        return None
    kept, _ = without_equal_axes(index.tensor)
    first = int(index.tensor.reshape(-1)[0])
    return (first, first + kept.numel()) if kept.dim() == 0 or are_positions(kept - first) else None


def indices_of(r, index, rows, exact=False):
    """The value of indices of a table with this number of rows. If `exact` is true, the number is their bound."""
    if isinstance(index, Constant):
        return constant_indices(r, index.tensor, index.hint, rows)
    if index.array.kind != 'index':
        return r.refuse('indices are whole numbers that are bound or constant, or that argmax, argsort or topk computes')
    require_bound(index.array, rows, r.refuse, exact)
    return index


def rows_at(r, x, dim, index):
    """The parts of a value at indices along an axis. The axes of the indices replace the axis."""
    x, dim = value_of(r, x), dim % len(x.shape)
    shape = [*x.shape[:dim], *index.shape, *x.shape[dim + 1:]]
    if isinstance(index, Constant):
        tensor = index.tensor.long()
        index = Constant(torch.where(tensor < 0, tensor + x.shape[dim], tensor), hint=index.hint)
    part = part_of(index)
    if part is not None:
        x = sliced(r, x, dim, *part)
        x = dropped(x, dim).unsqueezed(dim) if part[1] - part[0] == 1 else x
        inner = [None if p is None else x.stored[dim] for p in without_equal_axes(index.tensor)[1]]
        return Value(x.array, [*x.stored[:dim], *inner, *x.stored[dim + 1:]], shape)
    index = indices_of(r, index, x.shape[dim])
    x, at, _ = axis_of(r, x, dim)
    own, extents = index.array.extents, x.array.extents
    array = r.array([f'gather<{at}>(', Use(x.array), ', ', Use(index.array), ')'],
                    [*extents[:at], *own, *extents[at + 1:]], ATOM, x.array.kind, x.array.bound)
    moved = [p if p is None or p < at else p + len(own) - 1 for p in x.stored]
    inner = [None if p is None else at + p for p in index.stored]
    return Value(array, [*moved[:dim], *inner, *moved[dim + 1:]], shape)


def along(r, name, x, dim, index, values=()):
    """`gather_along` or `scatter_add_along`. The indices, and the values to add, have the shape of the value along all
    other axes."""
    x = x if None not in x.stored else Value(plain(x))
    arrays = [in_order(v, x.order) for v in (indices_of(r, index, x.shape[dim]), *values)]
    at = x.stored[dim]
    pieces = [f'{name}<{at}>(', Use(x.array)] + [p for array in arrays for p in (', ', Use(array))] + [')']
    return Value(r.array(pieces, x.array.extents if values else arrays[0].extents), x.stored)


@rule('index_select')
def _(r, a):
    """`gather<Axis>(x, indices)`"""
    return rows_at(r, a.self, a.dim, a.index)


@rule('index')
def _(r, a):
    """`gather<Axis>(x, indices)`; `x[torch.arange(n), indices]` is `gather_along<1>(x, indices)`"""
    x = value_of(r, a.self)
    given = {dim: index for dim, index in enumerate(a.indices) if index is not None}
    dims = list(given)
    if any(index.array.kind == 'truth' if isinstance(index, Value) else index.tensor.dtype == torch.bool
           for index in given.values()):
        return r.depends_on_numbers('indexing by a mask')
    if len(given) == 1:
        return rows_at(r, x, *given.popitem())
    if len(given) == 2 and dims[1] == dims[0] + 1 and is_each_row(given[dims[0]], x.shape[dims[0]]):
        index = given[dims[1]]
        if len(index.shape) == 1:
            index = indices_of(r, index, x.shape[dims[1]]).unsqueezed(1)
            for dim in [*range(dims[0]), *range(dims[1] + 1, len(x.shape))]:
                index = index.unsqueezed(dim)
            shape = [1 if dim == dims[1] else extent for dim, extent in enumerate(x.shape)]
            return dropped(along(r, 'gather_along', x, dims[1], Value(index.array, index.stored, shape)), dims[1])
    return r.refuse('indexes several axes at once: join these axes with flatten, and index once')


def is_each_row(index, rows):
    return isinstance(index, Constant) and torch.equal(index.tensor, torch.arange(rows))


@rule('take')
def _(r, a):
    """`gather<0>(x, indices)` of all elements"""
    return rows_at(r, shaped(r, a.self, [math.prod(a.self.shape)]), 0, a.index)


@rule('gather', 'take_along_dim')
def _(r, a):
    """`gather_along<Axis>(x, indices)`"""
    if a.dim is None:
        return r.refuse('take_along_dim without an axis has no counterpart: flatten both tensors first')
    x, dim = value_of(r, a.self), a.dim % len(a.self.shape)
    index = indices_of(r, a.index if hasattr(a, 'index') else a.indices, x.shape[dim])
    if hasattr(a, 'indices'):
        shape = [-1 if d == dim else max(e, i) for d, (e, i) in enumerate(zip(x.shape, index.shape))]
        x, index = (TABLE['expand'](r, type(a)(self=v, size=shape)) for v in (x, index))
    for d, extent in enumerate(index.shape):
        x = sliced(r, x, d, 0, extent) if d != dim and extent < x.shape[d] else x
    return along(r, 'gather_along', x, dim, index)


@rule('scatter_add')
def _(r, a):
    """`scatter_add_along<Axis>(x, indices, values)`"""
    x, index, values = value_of(r, a.self), a.index, value_of(r, a.src)
    dim = a.dim % len(x.shape)
    if any(i != e for d, (i, e) in enumerate(zip(index.shape, x.shape)) if d != dim):
        return r.refuse('scatter_add with fewer indices than elements along the other axes has no counterpart: slice first')
    for d, extent in enumerate(index.shape):
        values = sliced(r, values, d, 0, extent)
    return along(r, 'scatter_add_along', x, dim, index, [values])


@rule('index_add')
def _(r, a):
    """`scatter_add_along<Axis>(x, indices, values)`"""
    x, dim = value_of(r, a.self), a.dim % len(a.self.shape)
    index = indices_of(r, a.index, x.shape[dim])
    shape = [index.shape[0] if d == dim else e for d, e in enumerate(x.shape)]
    index = Value(in_order(index, [0]), [0 if d == dim else None for d in range(len(shape))], shape)
    return along(r, 'scatter_add_along', x, dim, index, [scaled(r, value_of(r, a.source), a.alpha)])


@rule('scatter')
def _(r, a):
    """of a number into zeros `one_hot(indices)`"""
    index, dim = value_of(r, a.index), a.dim % len(a.node.meta['val'].shape)
    others = [e for d, e in enumerate(a.node.meta['val'].shape) if d != dim]
    is_zero = isinstance(a.self, Constant) and not a.self.tensor.any()
    if not is_zero or not hasattr(a, 'value') or index.shape[dim] != 1 or list(dropped(index, dim).shape) != others:
        return r.refuse('scatter overwrites elements: choose with torch.where, or add with scatter_add')
    index = plain(dropped(index, dim))
    extent = a.self.shape[dim]
    require_bound(index, extent, r.refuse, exact=True)
    array = r.array(['one_hot(', Use(index), ')'], [*index.extents, extent])
    stored = [*range(dim), len(others), *range(dim, len(others))]
    return scaled(r, Value(array, stored), a.value)


@rule('one_hot')
def _(r, a):
    """`one_hot(indices)`"""
    if a.num_classes < 0:
        return r.depends_on_numbers('torch.one_hot without the number of classes')
    index = plain(value_of(r, a.self))
    require_bound(index, a.num_classes, r.refuse, exact=True)
    return Value(r.array(['one_hot(', Use(index), ')'], [*index.extents, a.num_classes]))
