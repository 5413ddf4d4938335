"""What each operation of PyTorch becomes. `TABLE` has a rule for each name of an ATen operation. A rule gets the reader
of the graph and the arguments by the names of the operation's schema, and returns a value. The first line of its
docstring says what becomes of the operation, for docs/from-pytorch-model.md."""

import math

import torch

from cairn_import.text import ATOM, COMPARISON, PIPE, PRODUCT, SUM, Number, Use, joined, literal, numbers, quoted
from cairn_import.value import Array, Constant, Value, expanded, in_order, plain, require_bound, reshaped

TABLE = {}
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


def constant(r, tensor, hint='constant'):
    """A constant tensor as cairn says it: a number, positions, or a frozen array that is loaded with the weights. Axes
    along which all elements are equal are not stored."""
    tensor = tensor.detach()
    shape, stored = tuple(tensor.shape), []
    for axis, extent in enumerate(shape):
        first = tensor.narrow(axis, 0, 1)
        varies = extent > 1 and not bool(((tensor == first) | ((tensor != tensor) & (first != first))).all())
        tensor = tensor if varies else first
        stored.append(varies)
    kept = tensor.reshape([e for e, varies in zip(shape, stored) if varies])
    at = iter(range(kept.dim()))
    places = [next(at) if varies else None for varies in stored]
    if kept.dim() == 0 and kept.dtype.is_floating_point:
        return Value(Array([literal(kept.item())], (), 'number'), places, shape)
    if kept.dtype.is_floating_point:
        return Value(r.constant(kept, hint), places, shape)
    if kept.dtype == torch.bool and kept.dim() > 0:
        array = Array([Use(r.constant(kept.float(), hint)), ' > 0_c'], kept.shape, 'mask', COMPARISON, 'truth', 2)
        return Value(array, places, shape)
    if kept.dim() == 1 and torch.equal(kept, torch.arange(len(kept))):
        return Value(Array(['arange<', Number('Extent', len(kept)), '>'], kept.shape, 'positions', ATOM, 'index',
                           len(kept)), places, shape)
    if kept.dim() == 0:
        return Value(Array([literal(kept.item())], (), 'number', ATOM, 'number'), places, shape)
    return r.refuse('needs an array of whole numbers that is a constant, and that is not 0, 1, 2, ...')


def aligned(r, operands):
    """The arrays of several operands, so that they broadcast as in PyTorch; and how the result stores its axes."""
    values = [value_of(r, v) for v in operands]
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
        operands = [value_of(r, v) for v in operands]
        if kind == 'real' and not any(v.array.kind == 'real' and v.array.hint != 'number' for v in operands):
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


plus, minus, times, over = infix('+', SUM), infix('-', SUM), infix('*', PRODUCT), infix('/', PRODUCT)


def scaled(r, v, factor):
    return v if factor == 1 else times(r, factor, v)


@rule('add')
def _(r, a):
    """`x + y`"""
    return plus(r, a.self, scaled(r, a.other, a.alpha))


@rule('sub', 'subtract')
def _(r, a):
    """`x - y`"""
    return minus(r, a.self, scaled(r, a.other, a.alpha))


@rule('rsub')
def _(r, a):
    """`y - x`"""
    return minus(r, a.other, scaled(r, a.self, a.alpha))


@rule('mul', 'multiply')
def _(r, a):
    """`x * y`"""
    return times(r, a.self, a.other)


@rule('div', 'divide', 'true_divide')
def _(r, a):
    """`x / y`; by a power of 2 `x * 0.125_c`"""
    if getattr(a, 'rounding_mode', None) is not None:
        return r.refuse(f'div with rounding_mode={a.rounding_mode!r} has no counterpart')
    if isinstance(a.other, (int, float)) and math.frexp(a.other)[0] == 0.5:
        return times(r, a.self, 1 / a.other)
    return over(r, a.self, a.other)


for torch_name, symbol in {'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'eq': '==', 'ne': '!='}.items():
    TABLE[torch_name] = (lambda apply: lambda r, a: apply(r, a.self, a.other))(infix(symbol, COMPARISON, 'truth'))
    TABLE[torch_name].__doc__ = f'`x {symbol} y`'


@rule('neg')
def _(r, a):
    """`-x`"""
    return elementwise(r, [a.self], lambda x: ['-', Use(x, f'right {PRODUCT}')], PRODUCT)


def unary(torch_name, name, layer=True):
    """A function that cairn has under a name of its own, and as a layer."""
    def apply(r, a):
        x = a.self if hasattr(a, 'self') else a.input
        out = elementwise(r, [x], lambda y: [f'{name}(', Use(y), ')'])
        if layer:
            out.array.call, out.array.stage = name, [f'nn::{name}']
        return out
    apply.__doc__ = f'`{name}(x)`'
    TABLE[torch_name] = apply


for same in ('relu', 'sigmoid', 'tanh', 'silu', 'mish', 'hardswish', 'hardsigmoid', 'exp', 'square'):
    unary(same, same)
for same in ('log', 'sqrt', 'sin', 'cos', 'log1p', 'rsqrt', 'abs', 'erf', 'sign', 'floor', 'ceil', 'round'):
    unary(same, same, layer=False)


def as_layer(r, x, name, stage=None):
    out = elementwise(r, [x], lambda y: [f'{name}(', Use(y), ')'])
    out.array.call, out.array.stage = name, [stage or f'nn::{name}']
    return out


@rule('gelu')
def _(r, a):
    """`gelu(x)`, `gelu_tanh(x)`"""
    return as_layer(r, a.self, 'gelu_tanh' if a.approximate == 'tanh' else 'gelu')


@rule('leaky_relu')
def _(r, a):
    """`leaky_relu<0.01>(x)`"""
    return as_layer(r, a.self, f'leaky_relu<{a.negative_slope!r}>')


@rule('elu')
def _(r, a):
    """`elu<1.0>(x)`"""
    if a.scale != 1 or a.input_scale != 1:
        return r.refuse('elu with a scale (selu, celu) has no counterpart')
    return as_layer(r, a.self, f'elu<{float(a.alpha)!r}>')


@rule('softplus')
def _(r, a):
    """`softplus(x)`"""
    if a.beta != 1:
        return r.refuse(f'softplus with beta={a.beta} has no counterpart')
    return as_layer(r, a.self, 'softplus')


@rule('relu6')
def _(r, a):
    """`clamp(x, 0_c, 6_c)`"""
    return elementwise(r, [a.self], lambda x: ['clamp(', Use(x), ', 0_c, 6_c)'])


@rule('hardtanh', 'clamp')
def _(r, a):
    """`clamp(x, low, high)`; with one bound `maximum(x, low)`, `minimum(x, high)`"""
    low, high = (a.min_val, a.max_val) if hasattr(a, 'min_val') else (a.min, a.max)
    if low is None or high is None:
        name, bound = ('maximum', low) if high is None else ('minimum', high)
        return elementwise(r, [a.self, bound], lambda x, y: [f'{name}(', Use(x), ', ', Use(y), ')'])
    return elementwise(r, [a.self, low, high], lambda x, y, z: ['clamp(', Use(x), ', ', Use(y), ', ', Use(z), ')'])


@rule('clamp_min')
def _(r, a):
    """`maximum(x, low)`"""
    return elementwise(r, [a.self, a.min], lambda x, y: ['maximum(', Use(x), ', ', Use(y), ')'])


@rule('maximum', 'minimum')
def _(r, a):
    """`maximum(x, y)`, `minimum(x, y)`"""
    name = a.node.target.overloadpacket.__name__
    return elementwise(r, [a.self, a.other], lambda x, y: [f'{name}(', Use(x), ', ', Use(y), ')'])


@rule('pow')
def _(r, a):
    """`square(x)`, `sqrt(x)`, `pow(x, 3_c)`"""
    if not isinstance(a.exponent, (int, float)):
        return r.refuse('pow takes a constant exponent')
    if a.exponent in (1, 2, 0.5):
        name = {2: 'square', 0.5: 'sqrt'}.get(a.exponent)
        return elementwise(r, [a.self], lambda x: [f'{name}(', Use(x), ')']) if name else a.self
    return elementwise(r, [a.self], lambda x: ['pow(', Use(x), f', {literal(a.exponent)})'])


@rule('reciprocal')
def _(r, a):
    """`1_c / x`"""
    return over(r, 1, a.self)


@rule('where')
def _(r, a):
    """`where(condition, x, y)`"""
    return elementwise(r, [a.condition, a.self, a.other],
                       lambda c, x, y: ['where(', Use(c), ', ', Use(x), ', ', Use(y), ')'])


@rule('masked_fill')
def _(r, a):
    """`masked_fill(x, mask, value)`"""
    return elementwise(r, [a.self, a.mask, a.value],
                       lambda x, c, y: ['masked_fill(', Use(x), ', ', Use(c), ', ', Use(y), ')'])


# ---------------------------------------------------------------------- what computes nothing

@rule('alias', 'contiguous', 'clone', 'lift_fresh_copy', 'lift_fresh', 'detach_copy', 'alias_copy')
def _(r, a):
    """the argument"""
    return a.self


@rule('_assert_tensor_metadata', '_assert_async', 'sym_constrain_range_for_size')
def _(r, a):
    """nothing"""
    return None


@rule('to', '_to_copy', 'type_as', 'float', 'double')
def _(r, a):
    """the argument; of indices and comparisons `as_real(x)`"""
    wanted = a.node.meta['val'].dtype
    if wanted.is_floating_point:
        if wanted not in (torch.float32, torch.float64):
            return r.refuse(f'computes in {wanted}, which a program of cairn chooses with mixed<bf16>')
        if a.self.array.kind == 'real':
            return a.self
        return as_real(r, a.self)
    return a.self if a.self.array.kind != 'real' else r.refuse(f'converts real numbers to {wanted}')


@rule('detach')
def _(r, a):
    """`detach(x)`"""
    return Value(r.array(['detach(', Use(a.self.array), ')'], a.self.array.extents), a.self.stored, a.self.shape)


# ---------------------------------------------------------------------- shapes

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
    return a.self.permuted(reversed(range(len(a.self.shape))))


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


def dropped(x, dim):
    """The tensor without the axis, which has extent 1."""
    at = x.stored[dim]
    array = reshaped(x.array, [e for i, e in enumerate(x.array.extents) if i != at]) if at is not None else x.array
    stored = [s if s is None or at is None or s < at else s - 1 for d, s in enumerate(x.stored) if d != dim]
    return Value(array, stored, [e for d, e in enumerate(x.shape) if d != dim])


@rule('slice')
def _(r, a):
    """`slice<Axis, Begin, End>(x)`, with step 1"""
    if a.step != 1:
        return r.refuse(f'a slice with step {a.step} has no counterpart')
    return sliced(r, a.self, a.dim, a.start, a.end)


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
            x, at, dim = axis_of(r, x, dim)
            shape = list(x.array.extents)
            shape[at] += before + after
            array = r.array([f'pad<{at}, ', Number('Before', before), ', ', Number('After', after), '>(', Use(x.array), ')'],
                            shape)
            x = Value(array, x.stored, [e + before + after if d == dim else e for d, e in enumerate(x.shape)])
    return x


@rule('flip')
def _(r, a):
    """`flip<Axis>(x)`"""
    x = Value(plain(a.self))
    return Value(r.array([f'flip<{", ".join(str(d % len(x.shape)) for d in a.dims)}>(', Use(x.array), ')'], x.shape))


@rule('roll')
def _(r, a):
    """`roll<Axis, Shift>(x)`"""
    x = a.self
    for shift, dim in zip(a.shifts, a.dims):
        x, at, _ = axis_of(r, x, dim)
        x = Value(r.array([f'roll<{at}, {shift}>(', Use(x.array), ')'], x.array.extents), x.stored, x.shape)
    return x


# ---------------------------------------------------------------------- over axes

def reduced(r, x, dims, keepdim, name, extra='', factor=None, kind='real', bound=None):
    rank = len(x.shape)
    dims = sorted({d % rank for d in dims}) if dims else list(range(rank))
    places = sorted(x.stored[d] for d in dims if x.stored[d] is not None)
    array = x.array
    if places:
        over_all = len(places) == len(array.extents)
        axes = '' if over_all else f'<{", ".join(map(str, places))}>'
        if keepdim and not over_all:
            extra += ', keepdim'
            shape = [1 if i in places else e for i, e in enumerate(array.extents)]
            array = r.array([f'{name}{axes}(', Use(array), extra + ')'], shape, ATOM, kind, bound)
            return times_equal(r, x, dims, Value(array, x.stored, [1 if d in dims else e for d, e in enumerate(x.shape)]), factor)
        shape = [e for i, e in enumerate(array.extents) if i not in places]
        array = r.array([f'{name}{axes}(', Use(array), extra + ')'], shape, ATOM, kind, bound)
    stored = [None if d in dims or s is None else s - sum(p < s for p in places) for d, s in enumerate(x.stored)]
    out = Value(array, stored, [1 if d in dims else e for d, e in enumerate(x.shape)])
    for d in [] if keepdim else reversed(dims):
        out = dropped(out, d)
    return times_equal(r, x, dims, out, factor)


def times_equal(r, x, dims, out, factor):
    """A sum over axes along which all elements are equal is a product."""
    equal = math.prod(x.shape[d] for d in dims if x.stored[d] is None)
    return scaled(r, out, equal) if factor and equal != 1 else out


@rule('mean', 'sum', 'amax', 'amin', 'logsumexp')
def _(r, a):
    """`mean<Axis>(x)`, `sum`, `max`, `min`, `logsumexp`"""
    name = {'amax': 'max', 'amin': 'min'}.get(a.node.target.overloadpacket.__name__, a.node.target.overloadpacket.__name__)
    dims = getattr(a, 'dim', None)
    dims = [dims] if isinstance(dims, int) else dims
    x = Value(plain(a.self)) if name == 'logsumexp' else a.self
    return reduced(r, x, dims, getattr(a, 'keepdim', False), name, factor=name == 'sum')


@rule('var', 'std')
def _(r, a):
    """`var<Axis>(x)`, `stddev<Axis>(x)`; without correction `biased`"""
    name = {'var': 'var', 'std': 'stddev'}[a.node.target.overloadpacket.__name__]
    correction = a.correction if hasattr(a, 'correction') else int(getattr(a, 'unbiased', True))
    if correction not in (None, 0, 1):
        return r.refuse(f'{name} with correction={correction} has no counterpart')
    dims = [a.dim] if isinstance(getattr(a, 'dim', None), int) else getattr(a, 'dim', None)
    return reduced(r, Value(plain(a.self)), dims, getattr(a, 'keepdim', False), name, ', biased' if correction == 0 else '')


@rule('argmax')
def _(r, a):
    """`argmax<Axis>(x)`"""
    if a.dim is None:
        return r.refuse('argmax over all axes has no counterpart')
    x = Value(plain(a.self))
    return reduced(r, x, [a.dim], a.keepdim, 'argmax', kind='index', bound=x.shape[a.dim])


@rule('softmax', 'log_softmax', '_softmax', '_log_softmax')
def _(r, a):
    """`softmax<Axis>(x)`, `log_softmax<Axis>(x)`"""
    name = a.node.target.overloadpacket.__name__.strip('_')
    x, at, _ = axis_of(r, a.self, a.dim)
    axis = '' if at == len(x.array.extents) - 1 else f'<{at}>'
    return Value(r.array([f'{name}{axis}(', Use(x.array), ')'], x.array.extents), x.stored, x.shape)


@rule('cumsum')
def _(r, a):
    """`cumsum<Axis>(x)`"""
    x, at, _ = axis_of(r, a.self, a.dim)
    return Value(r.array([f'cumsum<{at}>(', Use(x.array), ')'], x.array.extents), x.stored, x.shape)


# ---------------------------------------------------------------------- products

def with_last(value, last):
    """The order of the axes of a value with these axes last, and with the others as they are stored."""
    last = [axis % len(value.shape) for axis in last]
    return [axis for axis in value.order if axis not in last] + last


@rule('matmul', 'bmm', 'mm')
def _(r, a):
    """`matmul(x, y)`"""
    x, y = value_of(r, a.self), value_of(r, a.mat2 if hasattr(a, 'mat2') else a.other)
    if len(x.shape) < 2 or len(y.shape) < 2:
        return r.refuse('a product of vectors has no counterpart: use mul and sum')
    left, right = plain(x), plain(y)
    shape = list(a.node.meta['val'].shape)
    return Value(r.array(['matmul(', Use(left), ', ', Use(right), ')'], shape))


@rule('addmm')
def _(r, a):
    """`matmul(x, y) + bias`"""
    if a.beta != 1 or a.alpha != 1:
        return r.refuse('addmm with factors has no counterpart')
    product = TABLE['mm'](r, type(a)(self=a.mat1, mat2=a.mat2, node=a.node))
    return plus(r, product, a.self)


@rule('einsum')
def _(r, a):
    """`einsum<"ij,kj->ik">(x, y)`"""
    equation = a.equation.replace(' ', '')
    if len(a.tensors) != 2 or '.' in equation or '->' not in equation:
        return r.refuse(f'einsum "{a.equation}": cairn takes two operands, one letter for each axis, and a result')
    x, y = (plain(value_of(r, v)) for v in a.tensors)
    return Value(r.array([f'einsum<{quoted(equation)}>(', Use(x), ', ', Use(y), ')'], a.node.meta['val'].shape))


def path_of(v):
    if isinstance(v, Constant):
        return v.path
    return f'{v.array.weight_norm_of}.weight' if v.array.weight_norm_of else v.array.path


def parametrized(weight, stage):
    """The layer, with its weight computed by weight_norm if PyTorch computes it so."""
    return ['nn::weight_norm(', *stage, ')'] if weight.array.weight_norm_of else stage


def layer_name(r, *leaves):
    """The name of the module that owns these parameters, which are then those of a layer of cairn. A parameter that
    another layer owns, or that is read a second time, makes no layer."""
    given = [v for v in leaves if v is not None]
    paths = [path_of(v) for v in given]
    if any(p is None for p in paths):
        return None
    owners = {p.rpartition('.')[0] for p in paths}
    if len(owners) != 1 or any(p.rpartition('.')[2] not in ('weight', 'bias', 'running_mean', 'running_var') for p in paths):
        return None
    owner = owners.pop()
    if any(isinstance(v, Value) and not v.array.owned and not v.array.weight_norm_of for v in given):
        return None
    return r.model.take_layer(r, owner)


def applied(r, x, order, stage, extents_, stored_like=None):
    """A layer that reads the array with its axes in this order. The result stores its axes in the same order."""
    array = in_order(x, order)
    out = r.array([Use(array, 'pipe'), ' | '] + stage, extents_, PIPE)
    order = [axis % len(x.shape) for axis in order]
    return Value(out, [order.index(d) if d in order else None for d in range(len(x.shape))],
                 stored_like or [extents_[order.index(d)] if d in order else x.shape[d] for d in range(len(x.shape))])


@rule('linear')
def _(r, a):
    """`nn::linear<"fc", 4>`, `nn::linear_without_bias`, for tied weights `nn::tied_linear`"""
    x, out = a.input, a.weight.shape[0]
    if isinstance(x, Constant):
        x = value_of(r, x)
    order = with_last(x, [-1])
    shape = [x.shape[d] for d in order[:-1]] + [out]
    name = layer_name(r, a.weight, a.bias)
    if name is not None:
        kind = 'linear' if a.bias is not None else 'linear_without_bias'
        stage = [f'nn::{kind}<{quoted(name)}, ', Number('Features', out), '>']
        return applied(r, x, order, parametrized(a.weight, stage), shape)
    path = getattr(a.weight.array, 'path', None)
    if path and a.bias is None:
        return applied(r, x, order, [f'nn::tied_linear<{quoted("/" + path)}, ', Number('Features', out), '>'], shape)
    array = in_order(x, order)
    product = r.array(['matmul(', Use(array), ', ', Use(plain(a.weight.permuted((1, 0)))), ')'], shape)
    result = Value(product, [order.index(d) if d in order else None for d in range(len(x.shape))],
                   [*x.shape[:-1], out])
    return result if a.bias is None else plus(r, result, a.bias)


def window(stride, padding, dilation=1, groups=1, **more):
    return options('nn::window', [
        ('stride', None if pairs(stride) == 1 else braced(pairs(stride), 'Stride')),
        ('padding', None if pairs(padding) == 0 else braced(pairs(padding), 'Padding')),
        ('dilation', None if pairs(dilation) == 1 else braced(pairs(dilation), 'Dilation')),
        ('groups', None if groups == 1 else [Number('Groups', groups)]), *more.items()])


def convolution(r, x, weight, bias, settings, kind, channels, extent):
    """A convolution of images or of rows, which has PyTorch's channels in its last axis."""
    rank = len(x.shape)
    order = [0, *range(2, rank), 1]
    result = r.node.meta['val'].shape
    shape = [result[d] for d in order]
    name = layer_name(r, weight, bias)
    if name is not None:
        suffix = '' if bias is not None else '_without_bias'
        stage = [f'nn::{kind}{suffix}<{quoted(name)}, ', Number('Channels', channels), ', '] + braced(extent, 'Kernel')
        stage += ([', '] + settings if settings else []) + ['>']
        return applied(r, x, order, parametrized(weight, stage), shape, result)
    head = [f'{kind}'] + (['<'] + settings + ['>'] if settings else [])
    array = r.array(head + ['(', Use(in_order(x, order)), ', ', Use(plain(value_of(r, weight))), ')'], shape)
    out = Value(array, [order.index(d) for d in range(rank)], result)
    return out if bias is None else plus(r, out, shaped(r, bias, [channels] + [1] * (rank - 2)))


@rule('conv2d', 'conv1d')
def _(r, a):
    """`nn::conv2d<"conv", 8, 3>`, `nn::conv1d`, without a bias `nn::conv2d_without_bias`"""
    kind = a.node.target.overloadpacket.__name__
    x = value_of(r, a.input)
    if a.padding == 'same':
        settings = options('nn::window', [('padding', 'nn::same'),
                                          ('dilation', None if pairs(a.dilation) == 1 else braced(pairs(a.dilation), 'Dilation')),
                                          ('groups', None if a.groups == 1 else [Number('Groups', a.groups)])])
    else:
        settings = window(a.stride, 0 if a.padding == 'valid' else a.padding, a.dilation, a.groups)
    return convolution(r, x, a.weight, a.bias, settings, kind, a.weight.shape[0], pairs(a.weight.shape[2:]))


@rule('conv_transpose2d', 'conv_transpose1d')
def _(r, a):
    """`nn::conv_transpose2d<"conv", 8, 3>`, `nn::conv_transpose1d`"""
    kind = a.node.target.overloadpacket.__name__
    more = pairs(a.output_padding)
    settings = window(a.stride, a.padding, a.dilation, a.groups,
                      output_padding=None if more == 0 else braced(more, 'OutputPadding'))
    return convolution(r, value_of(r, a.input), a.weight, a.bias, settings, kind, a.weight.shape[1] * a.groups,
                       pairs(a.weight.shape[2:]))


# ---------------------------------------------------------------------- norms

@rule('batch_norm')
def _(r, a):
    """`nn::batch_norm<"bn">`"""
    if not a.training:
        return r.refuse('a batch norm in evaluation mode has no counterpart in a training step')
    if a.momentum is None or a.running_mean is None:
        return r.refuse('a batch norm needs running statistics and a momentum')
    x = a.input
    order = [0, *range(2, len(x.shape)), 1]
    name = layer_name(r, a.weight, a.bias, a.running_mean, a.running_var)
    r.model.norms.add(a.running_mean.path.rpartition('.')[0])
    if name is None or (a.weight is None) != (a.bias is None):
        return r.refuse('a batch norm needs parameters of its own: a weight and a bias, or neither')
    settings = options('nn::batch_norm_options', [
        ('momentum', None if a.momentum == 0.1 else repr(a.momentum)), ('eps', None if a.eps == 1e-5 else repr(a.eps)),
        ('affine', 'false' if a.weight is None else None)])
    stage = [f'nn::batch_norm<{quoted(name)}'] + ([', '] + settings if settings else []) + ['>']
    return applied(r, x, order, stage, [x.shape[d] for d in order])


@rule('layer_norm')
def _(r, a):
    """`nn::layer_norm<"ln">`, over the last axis"""
    x = a.input
    if len(a.normalized_shape) != 1:
        return r.refuse('a layer norm over several axes has no counterpart')
    order = with_last(x, [-1])
    name = layer_name(r, a.weight, a.bias) if a.weight is not None and a.bias is not None else None
    eps = '' if a.eps == 1e-5 else f', {a.eps!r}'
    shape = [x.shape[d] for d in order]
    if name is not None:
        return applied(r, x, order, [f'nn::layer_norm<{quoted(name)}{eps}>'], shape)
    settings = '.affine = false' if a.eps == 1e-5 else f'.eps = {a.eps!r}, .affine = false'
    out = applied(r, x, order, [f'nn::layer_norm<"norm", nn::norm_options{{{settings}}}>'], shape)
    out = times(r, out, a.weight) if a.weight is not None else out
    return plus(r, out, a.bias) if a.bias is not None else out


@rule('rms_norm')
def _(r, a):
    """`nn::rms_norm<"norm">`, over the last axis"""
    x = a.input
    name = layer_name(r, a.weight) if a.weight is not None else None
    if len(a.normalized_shape) != 1 or name is None:
        return r.refuse('an RMS norm is over the last axis and has a weight of its own')
    order = with_last(x, [-1])
    return applied(r, x, order, [f'nn::rms_norm<{quoted(name)}' + ('' if a.eps is None else f', {a.eps!r}') + '>'],
                   [x.shape[d] for d in order])


@rule('group_norm')
def _(r, a):
    """`nn::group_norm<"gn", 4>`"""
    x = a.input
    order = [0, *range(2, len(x.shape)), 1]
    name = layer_name(r, a.weight, a.bias) if a.weight is not None else None
    if name is None or len(x.shape) < 3:
        return r.refuse('a group norm needs a weight and a bias of its own, and images')
    eps = '' if a.eps == 1e-5 else f', {a.eps!r}'
    return applied(r, x, order, [f'nn::group_norm<{quoted(name)}, ', Number('Groups', a.num_groups), f'{eps}>'],
                   [x.shape[d] for d in order])


@rule('_weight_norm')
def _(r, a):
    """`nn::weight_norm` around the layer; elsewhere its formula"""
    v, g = value_of(r, a.v), value_of(r, a.g)
    squares = elementwise(r, [v], lambda x: ['square(', Use(x), ')'])
    others = [d for d in range(len(v.shape)) if d != a.dim % len(v.shape)]
    length = elementwise(r, [reduced(r, squares, others, True, 'sum', factor=True)], lambda x: ['sqrt(', Use(x), ')'])
    out = times(r, v, over(r, g, length))
    tail = '.parametrizations.weight.original'
    if a.dim == 0 and v.array.owned and g.array.owned and v.array.path == g.array.path[:-1] + '1' and tail in v.array.path:
        out.array.weight_norm_of = v.array.path.removesuffix(tail + '1')
    return out


# ---------------------------------------------------------------------- images

def pooled(r, x, name, extent, settings, more=''):
    order = [0, 2, 3, 1]
    result = r.node.meta['val'].shape
    stage = [f'nn::{name}<'] + braced(extent, 'Kernel') + ([', '] + settings if settings else []) + ['>']
    return applied(r, x, order, stage, [result[d] for d in order], result)


def stride_of(a):
    """The stride of a pool, or 1 if it is cairn's default, which is the extent of the window."""
    stride = pairs(a.stride) if a.stride else pairs(a.kernel_size)
    return None if stride == pairs(a.kernel_size) else braced(stride, 'Stride')


@rule('max_pool2d')
def _(r, a):
    """`nn::max_pool2d<2>`"""
    settings = options('nn::window', [
        ('stride', stride_of(a)), ('padding', None if pairs(a.padding) == 0 else braced(pairs(a.padding), 'Padding')),
        ('dilation', None if pairs(a.dilation) == 1 else braced(pairs(a.dilation), 'Dilation')),
        ('ceil_mode', 'true' if a.ceil_mode else None)])
    return pooled(r, a.self, 'max_pool2d', pairs(a.kernel_size), settings)


@rule('avg_pool2d')
def _(r, a):
    """`nn::avg_pool2d<2>`"""
    if a.divisor_override is not None:
        return r.refuse('avg_pool2d with divisor_override has no counterpart')
    settings = options('nn::window', [
        ('stride', stride_of(a)), ('padding', None if pairs(a.padding) == 0 else braced(pairs(a.padding), 'Padding')),
        ('ceil_mode', 'true' if a.ceil_mode else None),
        ('count_include_pad', None if a.count_include_pad or pairs(a.padding) == 0 else 'false')])
    return pooled(r, a.self, 'avg_pool2d', pairs(a.kernel_size), settings)


@rule('adaptive_avg_pool2d')
def _(r, a):
    """`nn::adaptive_avg_pool2d<7, 7>`; to one pixel `nn::global_average`"""
    x, (height, width) = a.self, a.node.meta['val'].shape[2:]
    if (height, width) == (1, 1):
        array = in_order(x, [0, 2, 3, 1])
        out = r.array([Use(array, 'pipe'), ' | nn::global_average'], [x.shape[0], x.shape[1]], PIPE)
        return Value(out, (0, 1, None, None))
    if (height, width) == x.shape[2:]:
        return x
    result = a.node.meta['val'].shape
    return applied(r, x, [0, 2, 3, 1], [f'nn::adaptive_avg_pool2d<{height}, {width}>'],
                   [result[d] for d in (0, 2, 3, 1)], result)


@rule('upsample_nearest2d', 'upsample_bilinear2d')
def _(r, a):
    """`nn::upsample2d<2>`, `nn::interpolate2d<32, 32>`"""
    x, result = a.input if hasattr(a, 'input') else a.self, a.node.meta['val'].shape
    factor = result[2] // x.shape[2]
    whole = all(result[d] == factor * x.shape[d] for d in (2, 3))
    shape = [result[d] for d in (0, 2, 3, 1)]
    if 'nearest' in a.node.target.overloadpacket.__name__:
        if not whole:
            return r.refuse(f'upsampling {x.shape[2:]} to {tuple(result[2:])} by the nearest pixel needs one whole factor')
        return applied(r, x, [0, 2, 3, 1], ['nn::upsample2d<', Number('Factor', factor), '>'], shape, result)
    mode = ', nn::bilinear_corners' if a.align_corners else ''
    stage = [f'nn::interpolate2d<{result[2]}, {result[3]}{mode}>']
    return applied(r, x, [0, 2, 3, 1], stage, shape, result)


# ---------------------------------------------------------------------- lookups and attention

@rule('embedding')
def _(r, a):
    """`nn::embedding<"wte", 8>`; `gather<0>(weight, indices)`; of positions `slice`"""
    weight, index = a.weight, a.indices
    rows, features = weight.shape
    if a.scale_grad_by_freq:
        return r.refuse('an embedding with scale_grad_by_freq has no counterpart: leave this setting out')
    if isinstance(index, Constant):
        return constant_rows(r, weight, index.tensor)
    if index.array.kind != 'index':
        return r.refuse('an embedding needs indices that are bound')
    require_bound(index.array, rows, r.refuse)
    array = in_order(index, index.order)
    padding = a.padding_idx if a.padding_idx is not None and a.padding_idx >= 0 else None
    name = layer_name(r, weight)
    stored, shape = [*index.stored, len(array.extents)], [*index.shape, features]
    if name is not None:
        settings = options('nn::embedding_options', [('padding_idx', None if padding is None else str(padding))])
        stage = [f'nn::embedding<{quoted(name)}, ', Number('Features', features)] + ([', '] + settings if settings else []) + ['>']
        out = r.array([Use(array, 'pipe'), ' | '] + stage, [*array.extents, features], PIPE)
    else:
        out = r.array(['gather<0>(', Use(plain(weight)), ', ', Use(array), ')'], [*array.extents, features])
    return Value(out, stored, shape)


def constant_rows(r, weight, index):
    """Rows of a table at positions that are constants: a slice."""
    varying = [d for d in range(index.dim()) if not bool((index == index.narrow(d, 0, 1)).all())]
    features = weight.shape[1]
    shape = [*index.shape, features]
    first = int(index.reshape(-1)[0])
    if not varying:
        row = sliced(r, weight, 0, first, first + 1)
        return Value(reshaped(row.array, [features]), [None] * index.dim() + [0], shape)
    line = index
    for d in range(index.dim()):
        line = line if d in varying else line.narrow(d, 0, 1)
    line = line.reshape(-1)
    if len(varying) > 1 or not torch.equal(line, torch.arange(first, first + len(line))):
        return r.refuse('looks up rows at constant positions that are not a slice')
    rows = sliced(r, weight, 0, first, first + len(line))
    return Value(rows.array, [0 if d in varying else None for d in range(index.dim())] + [1], shape)


@rule('gather')
def _(r, a):
    """`gather_along<Axis>(x, indices)`"""
    dim = a.dim % len(a.self.shape)
    x, index = plain(value_of(r, a.self)), plain(value_of(r, a.index))
    require_bound(index, x.extents[dim], r.refuse)
    if any(i != e for d, (i, e) in enumerate(zip(index.extents, x.extents)) if d != dim):
        return r.refuse('gather with fewer indices than elements along the other axes has no counterpart: slice first')
    return Value(r.array([f'gather_along<{dim}>(', Use(x), ', ', Use(index), ')'], index.extents))


def mask_of(r, mask, queries, keys):
    """A mask as attention takes it: nothing, the causal mark, or an array."""
    if isinstance(mask, Constant):
        seen = mask.tensor if mask.tensor.dtype == torch.bool else mask.tensor > -1e30
        simple = mask.tensor.dtype == torch.bool or bool(((mask.tensor == 0) | ~seen).all())
        lower = torch.ones(queries, keys, dtype=torch.bool).tril()
        if simple and bool(seen.all()):
            return []
        if simple and queries == keys and bool((seen == lower).all()):
            return ['nn::causal']
        tensor = mask.tensor if mask.tensor.dtype != torch.bool else torch.zeros(seen.shape).masked_fill(~seen, -math.inf)
        mask = constant(r, tensor, mask.hint)
    while len(mask.shape) < 4:
        mask = mask.unsqueezed(0)
    first = next((d for d in range(4) if mask.stored[d] is not None), 4)
    return [Use(in_order(mask, range(first, 4), with_equal=False))]


def grouped(node):
    """The keys or values before they were repeated for groups of queries: reshape(expand(unsqueeze(x, 2)))."""
    steps = [('reshape', 'view', '_unsafe_view'), ('expand',), ('unsqueeze',)]
    for names in steps:
        while isinstance(node, torch.fx.Node) and node.op == 'call_function' and getattr(
                node.target, 'overloadpacket', None) in (torch.ops.aten.contiguous, torch.ops.aten.clone):
            node = node.args[0]
        if not isinstance(node, torch.fx.Node) or node.op != 'call_function' or not isinstance(
                node.target, torch._ops.OpOverload) or node.target.overloadpacket.__name__ not in names:
            return None
        if names == ('unsqueeze',) and node.args[1] != 2:
            return None
        node = node.args[0]
    return node


@rule('scaled_dot_product_attention')
def _(r, a):
    """`nn::attention(q, k, v, nn::causal)`"""
    given = [a.query, a.key, a.value]
    for i in (1, 2):
        base = grouped(a.node.args[i])
        if base is not None and len(r.values[base].shape) == 4:
            given[i] = r.values[base]
    values = [value_of(r, v) for v in given]
    rank = len(values[0].shape)
    if rank != 4:
        return r.refuse('attention takes {N, heads, T, features}')
    q, k, v = (in_order(x, [0, 2, 1, 3]) for x in values)
    queries, keys, features = values[0].shape[2], values[1].shape[2], values[0].shape[3]
    if a.scale is not None and not math.isclose(a.scale, features ** -0.5):
        q = elementwise(r, [Value(q), a.scale * features ** 0.5], lambda x, y: [Use(y), ' * ', Use(x, f'right {PRODUCT}')], PRODUCT).array
    mask = ['nn::causal'] if a.is_causal else mask_of(r, a.attn_mask, queries, keys) if a.attn_mask is not None else []
    head = 'nn::attention'
    if a.dropout_p:
        head += f'<{quoted(r.random_name("attention"))}, {a.dropout_p!r}>'
    pieces = [head + '(', Use(q), ', ', Use(k), ', ', Use(v)] + ([', '] + mask if mask else []) + [')']
    return Value(r.array(pieces, [*q.extents[:3], v.extents[3]]), (0, 2, 1, 3))


@rule('dropout', 'dropout_', 'native_dropout')
def _(r, a):
    """`nn::dropout<"dropout", 0.1>`"""
    x = a.input
    if not a.p or not a.train:
        return x
    name = r.random_name('dropout')
    return Value(r.piped(x.array, [f'nn::dropout<{quoted(name)}, {a.p!r}>'], x.array.extents), x.stored, x.shape)


@rule('feature_dropout')
def _(r, a):
    """`nn::dropout2d<"dropout", 0.1>`"""
    x = a.input
    if not a.p or not a.train:
        return x
    order = [0, *range(2, len(x.shape)), 1]
    return applied(r, x, order, [f'nn::dropout2d<{quoted(r.random_name("dropout"))}, {a.p!r}>'],
                   [x.shape[d] for d in order])


# ---------------------------------------------------------------------- losses

def classes_last(x):
    return in_order(x, [0, *range(2, len(x.shape)), 1] if len(x.shape) > 1 else [0])


def of_classes(r, a, name, settings_name, more=()):
    logits = classes_last(a.self)
    classes = logits.extents[-1]
    if a.reduction != 1 or isinstance(a.target, Constant):
        return r.refuse(f'{name} takes labels that are bound, and the mean over them')
    target = plain(a.target)
    if target.kind != 'index':
        return r.refuse(f'{name} takes labels; probabilities are soft_cross_entropy')
    ignored = a.ignore_index >= 0
    require_bound(target, max(classes, a.ignore_index + 1) if ignored else classes, r.refuse)
    settings = options(settings_name, [('ignore_index', str(a.ignore_index) if ignored else None), *more])
    head = [name] + (['<'] + settings + ['>'] if settings else [])
    weight = [', ', Use(plain(value_of(r, a.weight)))] if a.weight is not None else []
    return Value(r.array(head + ['(', Use(logits), ', ', Use(target)] + weight + [')'], ()))


@rule('cross_entropy_loss')
def _(r, a):
    """`cross_entropy(x, labels)`; for probabilities `soft_cross_entropy`"""
    if isinstance(a.target, Value) and a.target.array.kind == 'real':
        if a.label_smoothing or a.weight is not None or a.reduction != 1:
            return r.refuse('cross entropy of probabilities takes no weights and no label smoothing')
        return Value(r.array(['soft_cross_entropy(', Use(classes_last(a.self)), ', ', Use(classes_last(a.target)), ')'], ()))
    return of_classes(r, a, 'cross_entropy', 'nn::cross_entropy_options',
                      [('label_smoothing', repr(a.label_smoothing) if a.label_smoothing else None)])


@rule('nll_loss', 'nll_loss_nd', 'nll_loss2d')
def _(r, a):
    """`nll_loss(x, labels)`"""
    return of_classes(r, a, 'nll_loss', 'nn::nll_loss_options')


def of_two(torch_name, name):
    def apply(r, a):
        if a.reduction != 1:
            return r.refuse(f'{torch_name} takes the mean')
        if getattr(a, 'weight', None) is not None or getattr(a, 'pos_weight', None) is not None:
            return r.refuse(f'{torch_name} takes no weights')
        call = f'huber<{float(a.delta)!r}>' if torch_name == 'huber_loss' else name
        arrays = aligned(r, [a.self, a.target])[0]
        return Value(r.array([f'{call}(', Use(arrays[0]), ', ', Use(arrays[1]), ')'], ()))
    apply.__doc__ = f'`{name}(x, y)`'
    TABLE[torch_name] = apply


of_two('mse_loss', 'mse')
of_two('l1_loss', 'nn::l1')
of_two('huber_loss', 'huber')
of_two('binary_cross_entropy_with_logits', 'binary_cross_entropy_with_logits')
