"""Elementwise functions, and operations that compute nothing."""

import math

import torch

from cairn_import.rules.table import TABLE, as_real, elementwise, infix, minus, over, plus, rule, scaled, times, value_of
from cairn_import.text import COMPARISON, PRODUCT, SUM, Use, literal
from cairn_import.value import Value


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


def of_truth(names, expression, said):
    """A function of truth values. `expression` makes it of the same values as the real numbers 0 and 1."""
    def apply(r, a):
        values = [value_of(r, v) for v in (a.self, getattr(a, 'other', None)) if v is not None]
        if any(v.array.kind not in ('truth', 'number') for v in values):
            return r.refuse(f'{names[0]} of whole numbers has no counterpart: bind its result as an input')
        return elementwise(r, [as_real(r, v) for v in values], expression, COMPARISON, 'truth')
    apply.__doc__ = f'of truth values `{said}`'
    TABLE.update(dict.fromkeys(names, apply))


of_truth(('bitwise_and', 'logical_and', '__and__'), lambda x, y: [Use(x, f'left {PRODUCT}'), ' * ', Use(y, f'right {PRODUCT}'),
                                                                  ' > 0_c'], 'as_real(x) * as_real(y) > 0_c')
of_truth(('bitwise_or', 'logical_or', '__or__'), lambda x, y: [Use(x, f'left {SUM}'), ' + ', Use(y, f'right {SUM}'), ' > 0_c'],
         'as_real(x) + as_real(y) > 0_c')
of_truth(('bitwise_not', 'logical_not'), lambda x: [Use(x, f'left {SUM}'), ' == 0_c'], 'as_real(x) == 0_c')


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
