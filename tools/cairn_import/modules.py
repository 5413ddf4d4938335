"""What each module of PyTorch becomes that is more than one operation. `TABLE` has a rule for each type. All other
modules of torch.nn are read through their operations, whose rules name the layers after the owners of the weights. The
first line of the docstring of a rule is in docs/from-pytorch-model.md."""

import operator
from types import SimpleNamespace

import torch
from torch import nn

from cairn_import.rules.products import applied, with_last
from cairn_import.rules.table import options
from cairn_import.text import ATOM, SUM, Number, Use, numbers, quoted
from cairn_import.value import Value, in_order

TABLE = {}
LAYERS = (nn.Linear, nn.Embedding, nn.modules.conv._ConvNd, nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


def is_part_of_its_parent(module):
    """Returns true if the module is written as a line of the module that calls it, and needs no function of its own."""
    own = type(module).__module__.startswith('torch.nn') and not list(module.children())
    return own or isinstance(module, LAYERS)


def rule_for(module):
    """The rule for a module: by its type, or by the name of a type of a library that need not be installed."""
    return TABLE.get(type(module)) or TABLE.get(f'{type(module).__module__}.{type(module).__qualname__}')


def rule(*types):
    def put(function):
        TABLE.update(dict.fromkeys(types, function))
        return function
    return put


@rule(nn.LSTM, nn.GRU, nn.RNN)
def _(r, call):
    """`nn::lstm<"lstm", 48>`, `nn::gru`, `nn::rnn`"""
    m = call.module
    name = r.body.relative(call.path)
    given = [v for v in call.arguments if isinstance(v, Value)]
    if len(given) != 1 or len(given[0].shape) != 3 or not name:
        return None
    problem = ('without biases' if not m.bias else f'with proj_size={m.proj_size}' if getattr(m, 'proj_size', 0) else
               f'with the nonlinearity {m.nonlinearity}' if getattr(m, 'nonlinearity', 'tanh') != 'tanh' else '')
    if problem:
        return r.refuse(f'a recurrent layer {problem} has no counterpart')
    x = given[0]
    order = [0, 1, 2] if m.batch_first else [1, 0, 2]
    settings = options('nn::recurrent_options', [
        ('num_layers', None if m.num_layers == 1 else [Number('Layers', m.num_layers)]),
        ('dropout', repr(m.dropout) if m.dropout and m.num_layers > 1 else None), ('bidirectional', 'true' if m.bidirectional else None)])
    stage = [f'nn::{type(m).__name__.lower()}<{quoted(name)}, ', Number('Features', m.hidden_size)] + (
        [', '] + settings if settings else []) + ['>']
    r.body.has_names = True
    batch, steps = (x.shape[d] for d in order[:2])
    directions = 2 if m.bidirectional else 1
    # The results that the model reads are elements of a tuple: the features of all steps, and the last states.
    indices = [n.args[1] if n.target is operator.getitem else None for n in call.results]
    if None in indices:
        return None
    width = m.hidden_size * directions
    features = [batch, steps, width], [*x.shape[:2], width]
    if set(indices) == {0}:
        out = applied(r, x, order, stage, *features)
        return [out] * len(indices) if len(indices) > 1 else out
    state = [m.num_layers * directions, batch, m.hidden_size]
    states = 2 if isinstance(m, nn.LSTM) else 1
    zeros = [', zeros<', *numbers(state, 'State'), '>'] * states
    whole = r.array([*stage, '(', Use(in_order(x, order)), *zeros, ')'], (), ATOM, 'tuple')
    kinds = [(features[0], 'real', None)] + [(state, 'real', None)] * states
    arrays = r.elements(whole, kinds)
    for array, hint in zip(arrays, ('features', 'hidden', 'cell')):
        array.hint = hint
    values = [Value(arrays[0], [order.index(d) for d in range(3)]), *(Value(array) for array in arrays[1:])]
    out = [values[index if isinstance(index, int) else 0] for index in indices]
    return out if len(out) > 1 else out[0]


def heads_stage(r, m, name, kind):
    return [f'nn::{kind}<{quoted(name)}, ', Number('Heads', m.num_heads)]


def is_projected(results):
    """Returns true if the only result is that of `out_proj`, and not the weights of the attention."""
    node = results[0] if len(results) == 1 else None
    while isinstance(node, torch.fx.Node) and node.target is not torch.ops.aten.linear.default:
        node = node.args[0] if node.op == 'call_function' else None
    return node is not None and str(node.args[1].target) == 'out_proj.weight'


@rule(nn.MultiheadAttention)
def _(r, call):
    """`nn::self_attention<"attention", 4>`"""
    m, name = call.module, r.body.relative(call.path)
    given = [v for v in call.arguments if isinstance(v, Value)]
    if len(call.arguments) != 1 or len(given) != 1 or m.in_proj_weight is None or m.in_proj_bias is None or m.add_zero_attn \
            or m.bias_k is not None or not is_projected(call.results):
        return None
    r.body.has_names = True
    x = given[0]
    order = [0, 1, 2] if m.batch_first else [1, 0, 2]
    settings = options('nn::attention_options', [('dropout', None if not m.dropout else repr(m.dropout))])
    stage = heads_stage(r, m, name, 'self_attention') + ([', '] + settings if settings else []) + ['>']
    return applied(r, x, order, stage, [x.shape[d] for d in order])


@rule(nn.TransformerEncoderLayer)
def _(r, call):
    """`nn::transformer_block<4>`"""
    m, name = call.module, r.body.relative(call.path)
    given = [v for v in call.arguments if isinstance(v, Value)]
    activation = {'relu': 'relu', 'gelu': 'gelu', 'silu': 'silu'}.get(getattr(m.activation, '__name__', ''))
    attention = m.self_attn
    if len(call.arguments) != 1 or len(given) != 1 or activation is None or m.linear1.bias is None or not name \
            or {m.norm1.eps, m.norm2.eps} != {1e-5} or {m.dropout1.p, m.dropout2.p, attention.dropout} != {m.dropout.p}:
        return None
    r.body.has_names = True
    x = given[0]
    order = [0, 1, 2] if attention.batch_first else [1, 0, 2]
    settings = options('nn::transformer_options', [
        ('dim_feedforward', [Number('Width', m.linear1.out_features)]), ('norm_first', None if m.norm_first else 'false'),
        ('dropout', None if not m.dropout.p else repr(m.dropout.p))])
    tail = [] if activation == 'gelu' else [f', nn::{activation}']
    block = ['nn::transformer_block<', Number('Heads', attention.num_heads), ', '] + settings + tail + ['>']
    out = applied(r, x, order, [f'block<{quoted(name)}>('] + block + [')'], [x.shape[d] for d in order])
    out.array.repeat = SimpleNamespace(path=name, body=None, function=block, arguments=[out.array.pieces[0].value])
    return out


@rule('transformers.pytorch_utils.Conv1D')
def _(r, call):
    """`matmul(x, weight) + bias`"""
    m, name = call.module, r.body.relative(call.path)
    x = call.arguments[0]
    rows, columns = m.weight.shape
    weight, bias = (r.parameter(f'{call.path}.{which}') for which in ('weight', 'bias'))
    order = with_last(x, [-1])
    array = in_order(x, order)
    pieces = ['matmul(', Use(array), ', ', Use(weight.array), ') + ', Use(bias.array)]
    out = r.array(pieces, [*array.extents[:-1], columns], SUM)
    return Value(out, [order.index(d) if d in order else None for d in range(len(x.shape))], [*x.shape[:-1], columns])
