"""Elementwise functions, and operations that compute nothing."""

import math

import torch

from cairn_import.rules.table import TABLE, as_real, elementwise, equal, infix, minus, over, plus, rule, scaled, times, value_of
from cairn_import.text import COMPARISON, PRODUCT, SUM, Use, joined
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
        return r.refuse(f'div with rounding_mode={a.rounding_mode!r} has no counterpart: write torch.floor(x / y)')
    if isinstance(a.self, Value) and a.self.array.multiple_of and isinstance(a.other, (int, float)):
        return scaled(r, a.self, 1 / a.other)
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
of_truth(('bitwise_xor', 'logical_xor', '__xor__'), lambda x, y: [Use(x, f'left {SUM}'), ' != ', Use(y, f'right {SUM}')],
         'as_real(x) != as_real(y)')
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
for same in ('log', 'sqrt', 'sin', 'cos', 'log1p', 'rsqrt', 'abs', 'erf', 'sign', 'floor', 'ceil'):
    unary(same, same, layer=False)


def called(r, name, *operands):
    """An elementwise function of cairn that is called by its name."""
    return elementwise(r, operands, lambda *arrays: [f'{name}(', *joined([[Use(x)] for x in arrays]), ')'])


@rule('round')
def _(r, a):
    """`round(x)`"""
    decimals = getattr(a, 'decimals', 0)
    return called(r, 'round', a.self) if decimals == 0 else over(
        r, called(r, 'round', times(r, a.self, 10 ** decimals)), 10 ** decimals)


@rule('exp2', 'log2', 'log10')
def _(r, a):
    """`exp(x * 0.6931471805599453_c)`, `log(x) * 1.4426950408889634_c`"""
    name = a.node.target.overloadpacket.__name__
    if name == 'exp2':
        return called(r, 'exp', times(r, a.self, math.log(2)))
    return times(r, called(r, 'log', a.self), 1 / math.log(int(name[3:])))


@rule('tan')
def _(r, a):
    """`sin(x) / cos(x)`"""
    return over(r, called(r, 'sin', a.self), called(r, 'cos', a.self))


@rule('trunc', 'fix')
def _(r, a):
    """`sign(x) * floor(abs(x))`"""
    return times(r, called(r, 'sign', a.self), called(r, 'floor', called(r, 'abs', a.self)))


@rule('isfinite')
def _(r, a):
    """`x - x == 0_c`"""
    return equal(r, minus(r, a.self, a.self), 0)


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
        return r.refuse('elu with a scale has no counterpart: multiply the result')
    return as_layer(r, a.self, f'elu<{float(a.alpha)!r}>')


@rule('celu')
def _(r, a):
    """`elu(x / alpha) * alpha`"""
    return as_layer(r, a.self, 'elu<1.0>') if a.alpha == 1 else times(r, called(r, 'elu', over(r, a.self, a.alpha)), a.alpha)


@rule('selu')
def _(r, a):
    """`elu<1.6732632423543772>(x) * 1.0507009873554805_c`"""
    return times(r, called(r, 'elu<1.6732632423543772>', a.self), 1.0507009873554805)


@rule('softplus')
def _(r, a):
    """`softplus(x)`"""
    if a.beta != 1:
        return over(r, called(r, 'softplus', times(r, a.self, a.beta)), a.beta)
    return as_layer(r, a.self, 'softplus')


@rule('relu6')
def _(r, a):
    """`clamp(x, 0_c, 6_c)`"""
    return called(r, 'clamp', a.self, 0, 6)


@rule('hardtanh', 'clamp')
def _(r, a):
    """`clamp(x, low, high)`; with one bound `maximum(x, low)`, `minimum(x, high)`"""
    low, high = (a.min_val, a.max_val) if hasattr(a, 'min_val') else (a.min, a.max)
    if low is None or high is None:
        name, bound = ('maximum', low) if high is None else ('minimum', high)
        return called(r, name, a.self, bound)
    return called(r, 'clamp', a.self, low, high)


@rule('clamp_min', 'clamp_max')
def _(r, a):
    """`maximum(x, low)`, `minimum(x, high)`"""
    return called(r, 'maximum', a.self, a.min) if hasattr(a, 'min') else called(r, 'minimum', a.self, a.max)


@rule('maximum', 'minimum')
def _(r, a):
    """`maximum(x, y)`, `minimum(x, y)`"""
    name = a.node.target.overloadpacket.__name__
    return called(r, name, a.self, a.other)


@rule('pow')
def _(r, a):
    """`square(x)`, `sqrt(x)`, `pow(x, 3_c)`; of a number above 0 `exp(x * 0.6931471805599453_c)`"""
    if isinstance(a.self, (int, float)) and a.self > 0:
        return called(r, 'exp', times(r, a.exponent, math.log(a.self)))
    if not isinstance(a.exponent, (int, float)):
        return r.refuse('pow takes a constant exponent: of numbers above 0, write torch.exp(y * torch.log(x))')
    if a.exponent in (1, 2, 0.5):
        name = {2: 'square', 0.5: 'sqrt'}.get(a.exponent)
        return called(r, name, a.self) if name else a.self
    return called(r, 'pow', a.self, a.exponent)


@rule('lerp')
def _(r, a):
    """`x + weight * (y - x)`"""
    return plus(r, a.self, times(r, a.weight, minus(r, a.end, a.self)))


@rule('reciprocal')
def _(r, a):
    """`1_c / x`"""
    return over(r, 1, a.self)


@rule('where')
def _(r, a):
    """`where(condition, x, y)`"""
    condition = value_of(r, a.condition)
    if condition.array.kind == 'number':  # all elements of a constant condition are equal
        chosen = value_of(r, a.self if condition.array.pieces != ['0_c'] else a.other)
        return TABLE['expand'](r, type(a)(self=chosen, size=a.node.meta['val'].shape))
    return called(r, 'where', condition, a.self, a.other)


@rule('masked_fill')
def _(r, a):
    """`masked_fill(x, mask, value)`"""
    return called(r, 'masked_fill', a.self, a.mask, a.value)


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
