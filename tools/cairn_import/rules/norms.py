"""Norms."""

from cairn_import.rules.products import applied, layer_name, with_last
from cairn_import.rules.reductions import reduced
from cairn_import.rules.shapes import shaped
from cairn_import.rules.table import elementwise, options, over, plus, rule, times, value_of
from cairn_import.text import Number, Use, quoted


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
        ('momentum', None if a.momentum == 0.1 else repr(a.momentum)), ('eps', None if a.eps == 1e-5 else repr(float(a.eps))),
        ('affine', 'false' if a.weight is None else None)])
    stage = [f'nn::batch_norm<{quoted(name)}'] + ([', '] + settings if settings else []) + ['>']
    return applied(r, x, order, stage, [x.shape[d] for d in order])


@rule('layer_norm')
def _(r, a):
    """`nn::layer_norm<"ln">`, over the last axis; without a bias, it has no parameters and is multiplied by the weight"""
    x = a.input
    if len(a.normalized_shape) != 1:
        return r.refuse('a layer norm over several axes has no counterpart')
    order = with_last(x, [-1])
    name = layer_name(r, a.weight, a.bias) if a.weight is not None and a.bias is not None else None
    eps = '' if a.eps == 1e-5 else f', {float(a.eps)!r}'
    shape = [x.shape[d] for d in order]
    if name is not None:
        return applied(r, x, order, [f'nn::layer_norm<{quoted(name)}{eps}>'], shape)
    settings = '.affine = false' if a.eps == 1e-5 else f'.eps = {float(a.eps)!r}, .affine = false'
    out = applied(r, x, order, [f'nn::layer_norm<"norm", nn::norm_options{{{settings}}}>'], shape)
    out = times(r, out, a.weight) if a.weight is not None else out
    return plus(r, out, a.bias) if a.bias is not None else out


@rule('rms_norm')
def _(r, a):
    """`nn::rms_norm<"norm">`, over the last axis"""
    x = a.input
    if len(a.normalized_shape) != 1:
        return r.refuse('an RMS norm over several axes has no counterpart')
    name = layer_name(r, a.weight) if a.weight is not None else None
    order = with_last(x, [-1])
    eps = None if a.eps is None else repr(float(a.eps))
    settings = (', ' + eps if eps else '') if name else ''.join([', ', *options('nn::rms_norm_options', [
        ('eps', eps), ('affine', 'false')])])
    out = applied(r, x, order, [f'nn::rms_norm<{quoted(name or "norm")}{settings}>'], [x.shape[d] for d in order])
    return out if name or a.weight is None else times(r, out, a.weight)


@rule('group_norm')
def _(r, a):
    """`nn::group_norm<"gn", 4>`"""
    x = a.input
    order = [0, *range(2, len(x.shape)), 1]
    has_parameters = a.weight is not None or a.bias is not None
    name = layer_name(r, a.weight, a.bias) if a.weight is not None and a.bias is not None else None
    if has_parameters and name is None or len(x.shape) < 3:
        return r.refuse('a group norm needs images, and a weight and a bias of its own, or neither')
    eps = None if a.eps == 1e-5 else repr(float(a.eps))
    settings = (', ' + eps if eps else '') if name else ''.join([', ', *options('nn::norm_options', [
        ('eps', eps), ('affine', 'false')])])
    return applied(r, x, order, [f'nn::group_norm<{quoted(name or "norm")}, ', Number('Groups', a.num_groups), f'{settings}>'],
                   [x.shape[d] for d in order])


@rule('instance_norm')
def _(r, a):
    """`nn::instance_norm<"in">`"""
    x = a.input
    order = [0, *range(2, len(x.shape)), 1]
    if not a.use_input_stats or a.running_mean is not None:
        return r.refuse('an instance norm with running statistics has no counterpart: leave track_running_stats out')
    name = layer_name(r, a.weight, a.bias) if a.weight is not None else None
    settings = options('nn::instance_norm_options', [('eps', None if a.eps == 1e-5 else repr(float(a.eps))),
                                                     ('affine', 'true' if name else None)])
    stage = [f'nn::instance_norm<{quoted(name or "norm")}'] + ([', '] + settings if settings else []) + ['>']
    out = applied(r, x, order, stage, [x.shape[d] for d in order])
    if name or a.weight is None:
        return out
    channels = [x.shape[1]] + [1] * (len(x.shape) - 2)
    return plus(r, times(r, out, shaped(r, a.weight, channels)), shaped(r, a.bias, channels))


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
