"""Embeddings and attention, and dropout."""

import math

import torch

from cairn_import.rules.indexing import indices_of, part_of, rows_at
from cairn_import.rules.products import applied, layer_name
from cairn_import.rules.table import constant, elementwise, options, rule, value_of
from cairn_import.text import PIPE, PRODUCT, Number, Use, quoted
from cairn_import.value import Constant, Value, in_order, plain


@rule('embedding')
def _(r, a):
    """`nn::embedding<"wte", 8>`; `gather<0>(weight, indices)`; of positions `slice`"""
    weight, index = a.weight, a.indices
    rows, features = weight.shape
    if a.scale_grad_by_freq:
        return r.refuse('an embedding with scale_grad_by_freq has no counterpart: leave this setting out')
    if part_of(index) is not None:
        return rows_at(r, weight, 0, index)
    name = layer_name(r, weight)
    index = indices_of(r, index, rows, exact=name is not None)
    array = in_order(index, index.order)
    padding = a.padding_idx if a.padding_idx is not None and a.padding_idx >= 0 else None
    stored, shape = [*index.stored, len(array.extents)], [*index.shape, features]
    if name is not None:
        settings = options('nn::embedding_options', [('padding_idx', None if padding is None else str(padding))])
        stage = [f'nn::embedding<{quoted(name)}, ', Number('Features', features)] + ([', '] + settings if settings else []) + ['>']
        out = r.array([Use(array, 'pipe'), ' | '] + stage, [*array.extents, features], PIPE)
    else:
        out = r.array(['gather<0>(', Use(plain(weight)), ', ', Use(array), ')'], [*array.extents, features])
    return Value(out, stored, shape)


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
