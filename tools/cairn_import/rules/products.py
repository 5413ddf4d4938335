"""Products, and layers with weights: linear layers, convolutions and PReLU. A layer has the name of the module that owns
its weight."""

import math

from cairn_import.rules.shapes import shaped
from cairn_import.rules.table import TABLE, braced, options, pairs, plus, rule, value_of
from cairn_import.text import PIPE, Number, Use, quoted
from cairn_import.value import Constant, Value, expanded, in_order, plain, reshaped


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


@rule('linalg_solve', 'linalg_inv', 'inverse')
def _(r, a):
    """`solve(x, y)`; the inverse is `solve(x, one_hot(arange<6>))`"""
    x = plain(value_of(r, getattr(a, 'A', None) or a.self))
    shape = a.node.meta['val'].shape
    if not hasattr(a, 'B'):
        y = expanded(constant_identity(r, shape[-1]), shape)
    elif a.left and len(a.B.shape) == len(shape):
        y = in_order(value_of(r, a.B), range(len(shape)))
    else:
        return r.refuse('solve takes right-hand sides that are the columns of a matrix: use unsqueeze(-1)')
    return Value(r.array(['solve(', Use(x), ', ', Use(y), ')'], shape))


def constant_identity(r, extent):
    return r.array(['one_hot(arange<', Number('Extent', extent), '>)'], [extent, extent])


@rule('linalg_cholesky', 'cholesky')
def _(r, a):
    """`cholesky(x)`"""
    if a.upper:
        return r.refuse('an upper Cholesky factor has no counterpart: transpose the lower one')
    x = plain(value_of(r, a.self))
    return Value(r.array(['cholesky(', Use(x), ')'], x.extents))


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


@rule('prelu')
def _(r, a):
    """`nn::prelu<"act", 64>`; `prelu(x, slope)`"""
    x, slopes = a.self, math.prod(a.weight.shape)
    order = [0, *range(2, len(x.shape)), 1] if len(x.shape) > 1 else [0]
    name = layer_name(r, a.weight)
    shape = [x.shape[d] for d in order]
    if name is not None and len(x.shape) > 1:
        more = [] if slopes == 1 else [', ', Number('Channels', slopes)]
        return applied(r, x, order, [f'nn::prelu<{quoted(name)}', *more, '>'], shape)
    weight = reshaped(plain(value_of(r, a.weight)), [slopes])
    array = r.array(['prelu(', Use(in_order(x, order)), ', ', Use(weight), ')'], shape)
    return Value(array, [order.index(d) for d in range(len(x.shape))])
