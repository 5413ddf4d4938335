"""Operations over axes."""

import math

from cairn_import.rules.shapes import axis_of, dropped, shaped
from cairn_import.rules.table import TABLE, as_real, rule, scaled
from cairn_import.text import ATOM, Use
from cairn_import.value import Value, plain


def reduced(r, x, dims, keepdim, name, extra='', factor=None, kind='real', bound=None):
    x = as_real(r, x) if kind == 'real' else x
    rank = len(x.shape)
    dims = sorted({d % rank for d in dims}) if dims else list(range(rank))
    places = sorted(x.stored[d] for d in dims if x.stored[d] is not None)
    array = x.array
    if places:
        over_all = len(places) == len(array.extents) and kind == 'real'
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


def whole_along(x, dims):
    """The value, with each of the axes stored. Without axes, all are stored."""
    return x if all(x.stored[d] is not None for d in dims or range(len(x.shape))) else Value(plain(x))


def of_pair(*values):
    """The results of an operation with several results, which are named where the model takes them apart."""
    for value in values:
        value.array.hint = ''
    return list(values)


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
    x = whole_along(a.self, dims) if name == 'logsumexp' else a.self
    return reduced(r, x, dims, getattr(a, 'keepdim', False), name, factor=name == 'sum')


@rule('max', 'min')
def _(r, a):
    """`max<Axis>(x)` and `argmax<Axis>(x)`, `min` and `argmin`"""
    name = a.node.target.overloadpacket.__name__
    if getattr(a, 'other', None) is not None:
        return TABLE[f'{name}imum'](r, a)
    if not hasattr(a, 'dim'):
        return reduced(r, a.self, None, False, name)
    x, _, dim = axis_of(r, a.self, a.dim)
    positions = reduced(r, x, [dim], a.keepdim, f'arg{name}', kind='index', bound=x.shape[dim])
    return of_pair(reduced(r, x, [dim], a.keepdim, name), positions)


@rule('linalg_vector_norm')
def _(r, a):
    """`vector_norm<Axis>(x)`"""
    if a.ord != 2:
        return r.refuse(f'a norm with ord={a.ord} has no counterpart')
    dims = [a.dim] if isinstance(a.dim, int) else a.dim
    return reduced(r, whole_along(a.self, dims), dims, a.keepdim, 'vector_norm')


@rule('var', 'std')
def _(r, a):
    """`var<Axis>(x)`, `stddev<Axis>(x)`; without correction `biased`"""
    return spread(r, a, {'var': 'var', 'std': 'stddev'}[a.node.target.overloadpacket.__name__])


@rule('var_mean', 'std_mean')
def _(r, a):
    """`var<Axis>(x)` and `mean<Axis>(x)`, `stddev` and `mean`"""
    name = {'var_mean': 'var', 'std_mean': 'stddev'}[a.node.target.overloadpacket.__name__]
    dims = [a.dim] if isinstance(getattr(a, 'dim', None), int) else getattr(a, 'dim', None)
    return of_pair(spread(r, a, name), reduced(r, a.self, dims, getattr(a, 'keepdim', False), 'mean'))


def spread(r, a, name):
    correction = a.correction if hasattr(a, 'correction') else int(getattr(a, 'unbiased', True))
    if correction not in (None, 0, 1):
        return r.refuse(f'{name} with correction={correction} has no counterpart')
    dims = [a.dim] if isinstance(getattr(a, 'dim', None), int) else getattr(a, 'dim', None)
    return reduced(r, whole_along(a.self, dims), dims, getattr(a, 'keepdim', False), name, ', biased' if correction == 0 else '')


@rule('argmax', 'argmin')
def _(r, a):
    """`argmax<Axis>(x)`, `argmin<Axis>(x)`"""
    x = shaped(r, a.self, [math.prod(a.self.shape)]) if a.dim is None else a.self
    x, _, dim = axis_of(r, x, a.dim or 0)
    name = a.node.target.overloadpacket.__name__
    return reduced(r, x, [dim], a.keepdim and a.dim is not None, name, kind='index', bound=x.shape[dim])


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
