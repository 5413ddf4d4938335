"""Losses."""

from cairn_import.rules.table import TABLE, aligned, options, rule, value_of
from cairn_import.text import Use
from cairn_import.value import Constant, Value, in_order, plain, require_bound


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
