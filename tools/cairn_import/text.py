"""Pieces of C++ text, from which the model is written once all of it is known.

A piece is a string, a `Number`, a `Use` of a value, or a `Call` of the function of another module. Modules that differ
in their numbers alone become one template: a number is therefore kept as a number until all modules have been read.
"""

import re
from dataclasses import dataclass


# Words that name nothing in the written files: those of C++, functions of cairn that the files call, and those of
# check.cpp.
RESERVED = set('''alignas alignof and asm auto bool break case catch char class concept const constexpr continue default
delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
not operator or private protected public register return short signed sizeof static struct switch template this throw
true try typedef union unsigned using virtual void while xor requires input indices labels param frozen state cache
constant zeros arange layer block repeat ckpt scan tag detach grad split slice reshape transpose expand concatenate
stack pad flip roll gather matmul softmax log_softmax relu sigmoid tanh silu gelu gelu_tanh exp log sqrt sin cos square
rsqrt abs sum mean max min var stddev where maximum minimum clamp pow dropout conv2d conv1d outputs program
predictor mse nn data file train real update freeze plain std report arrays far_arrays largest of_pytorch compared
deviation check_training'''.split())


@dataclass(frozen=True)
class Number:
    """A number that may become a template parameter, and the name that the parameter then gets."""
    role: str
    value: int

    def __str__(self):
        return str(self.value)


@dataclass(frozen=True, eq=False)
class Use:
    """A value where it is read. `place` says what stands around it: 'argument', 'operand' or 'pipe'."""
    value: object
    place: str = 'argument'


@dataclass(frozen=True, eq=False)
class Call:
    """The C++ function of the module whose body this is."""
    body: object


# How strongly the parts of an expression are bound together, weakest first. `|` is weaker than arithmetic.
PIPE, COMPARISON, SUM, PRODUCT, ATOM = range(5)


def joined(items, separator=', '):
    """Puts a separator between lists of pieces."""
    out = []
    for item in items:
        if out:
            out.append(separator)
        out += item if isinstance(item, list) else [item]
    return out


def numbers(values, role):
    """The pieces of a list of numbers."""
    return joined([[Number(role, int(v))] for v in values])


def snake_case(name):
    """The name of a class as a function is called: `ConvNet1D` becomes `conv_net1d`."""
    name = re.sub(r'(?<=[a-z])Net', 'net', name.replace('ReLU', 'Relu').replace('1D', '1d'))
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', name).lower()


def quoted(name):
    return '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"'


def literal(value):
    """A number of the model as cairn writes it: `0.5_c`, or `constant<1e-05>` where no literal exists."""
    value = float(value)
    if value != value or value in (float('inf'), float('-inf')):
        infinity = 'std::numeric_limits<double>::infinity()'
        return 'constant<' + ('std::numeric_limits<double>::quiet_NaN()' if value != value
                              else infinity if value > 0 else '-' + infinity) + '>'
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return text + '_c' if value >= 0 else '-' + text[1:] + '_c'


@dataclass(frozen=True, eq=False)
class Element:
    """One of several results of an expression, which a structured binding names."""
    bundle: object
    index: int
