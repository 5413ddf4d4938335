"""Operations that change shapes: views, slices, parts and joined tensors."""

import math

from cairn_import.rules.table import TABLE, rule, value_of
from cairn_import.text import ATOM, PIPE, Number, Use, joined
from cairn_import.value import Value, in_order, plain, reshaped


@rule('permute')
def _(r, a):
    """the argument; `transpose` where an operation needs the order"""
    return a.self.permuted([d % len(a.dims) for d in a.dims])


@rule('transpose', 'swapaxes')
def _(r, a):
    """the argument; `transpose` where an operation needs the order"""
    axes = list(range(len(a.self.shape)))
    i, j = (a.dim0, a.dim1) if hasattr(a, 'dim0') else (a.axis0, a.axis1)
    axes[i], axes[j] = axes[j], axes[i]
    return a.self.permuted(axes)


@rule('t', 'numpy_T')
def _(r, a):
    """the argument; `transpose` where an operation needs the order"""
    return a.self.permuted(range(len(a.self.shape))[::-1])


@rule('unsqueeze')
def _(r, a):
    """the argument; `reshape` where an operation needs the axis"""
    return a.self.unsqueezed(a.dim)


@rule('squeeze')
def _(r, a):
    """the argument; `reshape` where an operation needs the shape"""
    x, rank = a.self, len(a.self.shape)
    dims = getattr(a, 'dim', None)
    dims = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = {d % rank for d in dims if x.shape[d] == 1}
    return shaped(r, x, [e for axis, e in enumerate(x.shape) if axis not in gone])


@rule('expand')
def _(r, a):
    """the argument; `expand` where an operation needs the shape"""
    x, size = a.self, list(a.size)
    while len(x.shape) < len(size):
        x = x.unsqueezed(0)
    shape = [old if new == -1 else new for old, new in zip(x.shape, size)]
    grown = {axis for axis, (old, new) in enumerate(zip(x.shape, shape)) if old != new and x.stored[axis] is not None}
    if not grown:
        return Value(x.array, x.stored, shape)
    kept = [axis for axis in x.order if axis not in grown]
    array = reshaped(x.array, [x.shape[axis] for axis in kept])
    return Value(array, [kept.index(axis) if axis in kept else None for axis in range(len(shape))], shape)


@rule('expand_as')
def _(r, a):
    """the argument; `expand` where an operation needs the shape"""
    return TABLE['expand'](r, type(a)(self=a.self, size=a.other.shape))


@rule('broadcast_tensors')
def _(r, a):
    """the arguments; `expand` where an operation needs the shape"""
    shape = a.node.meta['val'][0].shape
    return [TABLE['expand'](r, type(a)(self=value_of(r, v), size=shape)) for v in a.tensors]


@rule('view', 'reshape', '_unsafe_view', 'view_as', 'reshape_as', 'flatten', 'unflatten')
def _(r, a):
    """`reshape<2, 3>(x)`"""
    return shaped(r, a.self, a.node.meta['val'].shape)


def groups(old, new):
    """Divides two shapes of equal counts into the shortest runs of axes with equal counts."""
    out, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        mine, others = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(mine), j + len(others)
        left, right = math.prod(old[k] for k in mine), math.prod(new[k] for k in others)
        while left != right:
            if left < right:
                left, mine, i = left * old[i], mine + [i], i + 1
            else:
                right, others, j = right * new[j], others + [j], j + 1
        while i < len(old) and old[i] == 1 and (j == len(new) or new[j] != 1) and mine:
            mine, i = mine + [i], i + 1
        while j < len(new) and new[j] == 1 and (i == len(old) or old[i] != 1) and others:
            others, j = others + [j], j + 1
        out.append((mine, others))
    return out


def shaped(r, x, shape):
    """The tensor with another shape. If each new axis comes from axes that the array stores side by side, then the
    array keeps its order."""
    shape = tuple(int(e) for e in shape)
    if shape == x.shape:
        return x
    parts = []  # position in the array, new axes, and whether the new axes are stored
    for mine, others in groups(x.shape, shape):
        real = [axis for axis in mine if x.shape[axis] != 1]
        places = [x.stored[axis] for axis in real]
        if all(p is None for p in places):
            ok = len(real) <= 1 and [shape[j] for j in others if shape[j] != 1] == [x.shape[axis] for axis in real]
            parts.append((None, others) if ok else None)
        elif None in places or any(q != p + 1 for p, q in zip(places, places[1:])):
            order = sorted(p for p in range(len(x.array.extents)) if x.array.extents[p] != 1)
            side_by_side = None not in places and [p for p in order if places[0] <= p <= places[-1]] == places
            parts.append((places[0], others) if side_by_side else None)
        else:
            parts.append((places[0], others))
    if None in parts:
        channels_last = x.order == (0, *range(2, len(x.shape)), 1)
        if channels_last and len(shape) == 2 and shape[0] == x.shape[0]:
            return Value(r.array([Use(x.array, 'pipe'), ' | nn::flatten'], shape, PIPE))
        array = reshaped(plain(x), shape)
        return Value(array)
    stored = sorted([p for p in parts if p[0] is not None], key=lambda p: p[0])
    axes = [j for _, others in stored for j in others if shape[j] != 1]
    array = reshaped(x.array, [shape[j] for j in axes])
    if array is not x.array and not array.hint:
        array.hint = r.hint(r.node)
    return Value(array, [axes.index(j) if j in axes else None for j in range(len(shape))], shape)


def axis_of(r, x, dim):
    """The value with the axis stored, and the place of the axis in its array."""
    dim %= len(x.shape)
    if x.stored[dim] is None:
        x = Value(plain(x))
    return x, x.stored[dim], dim


def sliced(r, x, dim, begin, end):
    x, at, dim = axis_of(r, x, dim)
    begin, end = slice(begin, end).indices(x.shape[dim])[:2]
    if (begin, end) == (0, x.shape[dim]):
        return x
    numbers_ = [str(at), ', ', Number('Begin', begin)] + ([', ', Number('End', end)] if end < x.shape[dim] else [])
    source = x.array
    shape = list(source.extents)
    shape[at] = end - begin
    array = r.array(['slice<'] + numbers_ + ['>(', Use(source), ')'], shape, ATOM, source.kind, source.bound)
    return Value(array, x.stored, [end - begin if d == dim else e for d, e in enumerate(x.shape)])


def padded(r, x, dim, before, after):
    x, at, dim = axis_of(r, x, dim)
    shape = list(x.array.extents)
    shape[at] += before + after
    array = r.array([f'pad<{at}, ', Number('Before', before), ', ', Number('After', after), '>(', Use(x.array), ')'], shape)
    return Value(array, x.stored, [e + before + after if d == dim else e for d, e in enumerate(x.shape)])


def dropped(x, dim):
    """The tensor without the axis, which has extent 1."""
    at = x.stored[dim]
    array = reshaped(x.array, [e for i, e in enumerate(x.array.extents) if i != at]) if at is not None else x.array
    stored = [s if s is None or at is None or s < at else s - 1 for d, s in enumerate(x.stored) if d != dim]
    return Value(array, stored, [e for d, e in enumerate(x.shape) if d != dim])


@rule('slice')
def _(r, a):
    """`slice<Axis, Begin, End>(x)`; with a step also `reshape`"""
    if a.step == 1:
        return sliced(r, a.self, a.dim, a.start, a.end)
    x, at, dim = axis_of(r, a.self, a.dim)
    begin, end = slice(a.start, a.end).indices(x.shape[dim])[:2]
    count = -(-(end - begin) // a.step)
    missing = begin + count * a.step - x.shape[dim]  # the last group of elements may reach over the end
    x = sliced(r, padded(r, x, dim, 0, missing) if missing > 0 else x, dim, begin, begin + count * a.step)
    extents = x.array.extents
    grouped = Value(reshaped(x.array, [*extents[:at], count, a.step, *extents[at + 1:]]))
    array = reshaped(sliced(r, grouped, at + 1, 0, 1).array, [*extents[:at], count, *extents[at + 1:]])
    return Value(array, x.stored, [count if d == dim else e for d, e in enumerate(x.shape)])


@rule('narrow')
def _(r, a):
    """`slice<Axis, Begin, End>(x)`"""
    return sliced(r, a.self, a.dim, a.start, a.start + a.length)


@rule('select')
def _(r, a):
    """`slice<Axis, Begin, End>(x)` and `reshape`"""
    dim = a.dim % len(a.self.shape)
    if a.self.stored[dim] is None:
        return dropped(a.self, dim)
    index = a.index % a.self.shape[dim]
    return dropped(sliced(r, a.self, dim, index, index + 1), dim)


def parts(r, x, dim, lengths):
    x, at, dim = axis_of(r, x, dim)
    if len(set(lengths)) > 1 or len(lengths) == 1:
        out, begin = [], 0
        for length in lengths:
            out.append(sliced(r, x, dim, begin, begin + length))
            begin += length
        return out
    shape = list(x.array.extents)
    shape[at] = lengths[0]
    whole = r.array([f'split<{at}, ', Number('Parts', len(lengths)), '>(', Use(x.array), ')'], (), ATOM, 'tuple')
    logical = [lengths[0] if d == dim else e for d, e in enumerate(x.shape)]
    return [Value(e, x.stored, logical) for e in r.elements(whole, [(shape, x.array.kind, x.array.bound)] * len(lengths))]


@rule('split', 'split_with_sizes', 'chunk')
def _(r, a):
    """`split<Axis, Parts>(x)`; for unequal parts `slice`"""
    return parts(r, a.self, a.dim, [v.shape[a.dim] for v in a.node.meta['val']])


@rule('unbind')
def _(r, a):
    """`split<Axis, Parts>(x)` and `reshape`"""
    dim = a.dim % len(a.self.shape)
    return [dropped(v, dim) for v in parts(r, a.self, dim, [1] * a.self.shape[dim])]


@rule('cat', 'concatenate')
def _(r, a):
    """`concatenate<Axis>(x, y)`"""
    values = [value_of(r, v) for v in a.tensors if math.prod(v.shape) > 0]
    if len(values) == 1:
        return values[0]
    dim = a.dim % len(values[0].shape)
    most = max((v for v in values if v.stored[dim] is not None), key=lambda v: len(v.order), default=None)
    order = most.order if most is not None and len(most.order) == max(len(v.order) for v in values) else range(len(values[0].shape))
    arrays = [in_order(v, order) for v in values]
    order = list(order)
    at = order.index(dim)
    shape = list(arrays[0].extents)
    shape[at] = sum(x.extents[at] for x in arrays)
    pieces = [f'concatenate<{at}>('] + joined([[Use(x)] for x in arrays]) + [')']
    array = r.array(pieces, shape, ATOM, arrays[0].kind, arrays[0].bound)
    logical = list(values[0].shape)
    logical[dim] = shape[at]
    return Value(array, [order.index(d) if d in order else None for d in range(len(logical))], logical)


@rule('stack')
def _(r, a):
    """`reshape` and `concatenate<Axis>(x, y)`"""
    dim = a.dim % (len(a.tensors[0].shape) + 1)
    return TABLE['cat'](r, type(a)(tensors=[value_of(r, v).unsqueezed(dim) for v in a.tensors], dim=dim))


@rule('pad', 'constant_pad_nd')
def _(r, a):
    """`pad<Axis, Before, After>(x)`, with zeros"""
    if getattr(a, 'mode', 'constant') != 'constant' or a.value not in (None, 0):
        return r.refuse('pad takes zeros alone')
    x = a.self
    for k in range(0, len(a.pad), 2):
        before, after = a.pad[k], a.pad[k + 1]
        dim = len(x.shape) - 1 - k // 2
        x = sliced(r, x, dim, max(-before, 0), x.shape[dim] - max(-after, 0))
        before, after = max(before, 0), max(after, 0)
        if before or after:
            x = padded(r, x, dim, before, after)
    return x


@rule('flip')
def _(r, a):
    """`flip<Axis>(x)`"""
    x = Value(plain(a.self))
    axes = ", ".join(str(d % len(x.shape)) for d in a.dims)
    return Value(r.array([f'flip<{axes}>(', Use(x.array), ')'], x.shape, ATOM, x.array.kind, x.array.bound))


@rule('roll')
def _(r, a):
    """`roll<Axis, Shift>(x)`"""
    x = a.self if a.dims else shaped(r, a.self, [math.prod(a.self.shape)])
    for shift, dim in zip(a.shifts, a.dims or [0]):
        x, at, _ = axis_of(r, x, dim)
        array = r.array([f'roll<{at}, {shift}>(', Use(x.array), ')'], x.array.extents, ATOM, x.array.kind, x.array.bound)
        x = Value(array, x.stored, x.shape)
    return shaped(r, x, a.self.shape)
