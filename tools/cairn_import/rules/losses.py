"""Losses."""

import math

from cairn_import.rules.reductions import reduced
from cairn_import.rules.table import TABLE, aligned, options, over, rule, scaled, times, value_of
from cairn_import.text import PRODUCT, Use, joined
from cairn_import.value import Value, in_order, plain, require_bound, reshaped


def classes_last(x):
    return in_order(x, [0, *range(2, len(x.shape)), 1] if len(x.shape) > 1 else [0])


def of_classes(r, a, name, settings_name, more=()):
    logits = classes_last(a.self)
    classes = logits.extents[-1]
    ignored = a.ignore_index >= 0
    smooth = getattr(a, 'label_smoothing', 0)
    target = plain(value_of(r, a.target))
    if target.kind != 'index':
        return r.refuse(f'{name} takes labels; probabilities are soft_cross_entropy')
    if a.reduction == 0 or a.reduction == 2 and (ignored or a.weight is not None):
        if ignored or smooth:
            return r.refuse(f'{name} of each row takes no label_smoothing and no ignore_index: take the mean')
        rows = of_each_row(r, a, name, logits, target)
        return rows if a.reduction == 0 else reduced(r, rows, None, False, 'sum')
    require_bound(target, max(classes, a.ignore_index + 1) if ignored else classes, r.refuse)
    settings = options(settings_name, [('ignore_index', str(a.ignore_index) if ignored else None), *more])
    head = [name] + (['<'] + settings + ['>'] if settings else [])
    weight = [', ', Use(plain(value_of(r, a.weight)))] if a.weight is not None else []
    mean = Value(r.array(head + ['(', Use(logits), ', ', Use(target)] + weight + [')'], ()))
    return scaled(r, mean, math.prod(target.extents) if a.reduction == 2 else 1)


def of_each_row(r, a, name, logits, target):
    """The losses of the rows, without their mean."""
    require_bound(target, logits.extents[-1], r.refuse)
    axis = len(target.extents)
    rows = r.array(['log_softmax(', Use(logits), ')'], logits.extents) if name == 'cross_entropy' else logits
    picked = r.array([f'gather_along<{axis}>(', Use(rows), ', ', Use(reshaped(target, [*target.extents, 1])), ')'],
                     [*target.extents, 1])
    out = Value(r.array(['-', Use(reshaped(picked, target.extents), f'right {PRODUCT}')], target.extents, PRODUCT))
    if a.weight is None:
        return out
    weight = Use(plain(value_of(r, a.weight)))
    return times(r, out, Value(r.array(['gather<0>(', weight, ', ', Use(target), ')'], target.extents)))


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


def of_two(torch_name, name, call=None):
    """A loss of two tensors. `call` makes the name of cairn's function, with its settings, of the arguments."""
    def apply(r, a):
        if a.reduction == 0 or getattr(a, 'weight', None) is not None or getattr(a, 'pos_weight', None) is not None:
            return r.refuse(f'{torch_name} has no counterpart without a reduction, or with weights')
        arrays, shape, _, _ = aligned(r, [a.self, a.target])
        mean = Value(r.array([f'{call(a) if call else name}(', Use(arrays[0]), ', ', Use(arrays[1]), ')'], ()))
        return scaled(r, mean, math.prod(shape) if a.reduction == 2 else 1)
    apply.__doc__ = f'`{name}(x, y)`'
    TABLE[torch_name] = apply
    return apply


of_two('mse_loss', 'mse')
of_two('l1_loss', 'nn::l1')
huber = of_two('huber_loss', 'huber', lambda a: 'huber' if a.delta == 1 else f'huber<{float(a.delta)!r}>')
of_two('binary_cross_entropy_with_logits', 'binary_cross_entropy_with_logits')


@rule('smooth_l1_loss')
def _(r, a):
    """`huber(x, y)`; with a beta `huber<0.5>(x, y) / 0.5_c`"""
    if a.beta == 0:
        return TABLE['l1_loss'](r, a)
    out = huber(r, type(a)(self=a.self, target=a.target, reduction=a.reduction, delta=a.beta))
    return out if a.beta == 1 else over(r, out, a.beta)


@rule('kl_div')
def _(r, a):
    """`kl_div(log_q, p)`, times the number of rows or divided by that of classes"""
    x = value_of(r, a.self)
    if a.reduction == 0 or a.log_target or len(x.shape) < 1 or x.shape != value_of(r, a.target).shape:
        return r.refuse('kl_div has no counterpart without a reduction, or with log_target')
    mean = Value(r.array(['kl_div(', Use(plain(x)), ', ', Use(plain(value_of(r, a.target))), ')'], ()))
    return scaled(r, mean, math.prod(x.shape[:-1]) if a.reduction == 2 else 1 / x.shape[-1])


@rule('cosine_similarity')
def _(r, a):
    """`cosine_similarity(x, y)`"""
    if a.eps != 1e-8:
        return r.refuse(f'cosine_similarity with eps={a.eps} has no counterpart')
    values = [value_of(r, a.x1), value_of(r, a.x2)]
    rank = max(len(v.shape) for v in values)
    dim = a.dim % rank
    order = [*(d for d in range(rank) if d != dim), dim]
    for i in range(2):
        while len(values[i].shape) < rank:
            values[i] = values[i].unsqueezed(0)
    x, y = (in_order(v if v.stored[dim] is not None else Value(plain(v)), order, with_equal=False) for v in values)
    return Value(r.array(['cosine_similarity(', Use(x), ', ', Use(y), ')'], a.node.meta['val'].shape))


@rule('cosine_embedding_loss')
def _(r, a):
    """`cosine_embedding_loss<0.5>(x, y, targets)`"""
    x, y, target = (value_of(r, v) for v in (a.input1, a.input2, a.target))
    if a.reduction != 1 or x.shape != y.shape or len(x.shape) != 2:
        return r.refuse('cosine_embedding_loss takes two matrices, and the mean over their rows')
    return with_margin(r, 'cosine_embedding_loss', a.margin, 0, x, y, target)


@rule('triplet_margin_loss')
def _(r, a):
    """`triplet_loss<0.2>(anchor, positive, negative)`"""
    if a.p != 2 or a.eps != 1e-6 or a.swap or a.reduction != 1:
        return r.refuse('triplet_margin_loss with p, eps or swap, or without the mean, has no counterpart')
    return with_margin(r, 'triplet_loss', a.margin, 1, *(value_of(r, v) for v in (a.anchor, a.positive, a.negative)))


def with_margin(r, name, margin, usual, *values):
    head = name if margin == usual else f'{name}<{float(margin)!r}>'
    return Value(r.array([f'{head}(', *joined([[Use(plain(v))] for v in values]), ')'], ()))
