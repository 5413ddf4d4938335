"""Pools, and images of another size."""

import torch

from cairn_import.rules.products import applied
from cairn_import.rules.table import braced, options, pairs, rule
from cairn_import.text import PIPE, Number, Use
from cairn_import.value import Value, in_order


def pooled(r, x, name, extent, settings, more=''):
    order = [0, 2, 3, 1]
    result = shape_of(r.node)
    stage = [f'nn::{name}<'] + braced(extent, 'Kernel') + ([', '] + settings if settings else []) + ['>']
    return applied(r, x, order, stage, [result[d] for d in order], result)


def shape_of(node):
    """The shape of the result, or of the first of several results."""
    result = node.meta['val']
    return (result[0] if isinstance(result, (tuple, list)) else result).shape


def values_alone(r, a, pooled):
    """The result of a pool, which may also have to return where the values were."""
    if isinstance(a.node.meta['val'], torch.Tensor):
        return pooled
    return [pooled, r.lacking('the indices of a pool have no counterpart: pool without return_indices')]


def stride_of(a):
    """The stride of a pool, or 1 if it is cairn's default, which is the extent of the window."""
    stride = pairs(a.stride) if a.stride else pairs(a.kernel_size)
    return None if stride == pairs(a.kernel_size) else braced(stride, 'Stride')


@rule('max_pool2d', 'max_pool2d_with_indices')
def _(r, a):
    """`nn::max_pool2d<2>`"""
    settings = options('nn::window', [
        ('stride', stride_of(a)), ('padding', None if pairs(a.padding) == 0 else braced(pairs(a.padding), 'Padding')),
        ('dilation', None if pairs(a.dilation) == 1 else braced(pairs(a.dilation), 'Dilation')),
        ('ceil_mode', 'true' if a.ceil_mode else None)])
    return values_alone(r, a, pooled(r, a.self, 'max_pool2d', pairs(a.kernel_size), settings))


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


@rule('adaptive_max_pool2d')
def _(r, a):
    """`nn::adaptive_max_pool2d<7, 7>`"""
    result = shape_of(a.node)
    return values_alone(r, a, applied(r, a.self, [0, 2, 3, 1], [f'nn::adaptive_max_pool2d<{result[2]}, {result[3]}>'],
                                      [result[d] for d in (0, 2, 3, 1)], result))


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
