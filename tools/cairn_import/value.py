"""Values of a model: which C++ expression a tensor of PyTorch becomes, and how its axes are stored there.

cairn stores images with their channels last, and the arrays of attention with the heads behind the positions. A value
therefore remembers where each axis of PyTorch's tensor is stored. A permutation of axes, a new axis of extent 1 and an
expanded axis change only this memory: nothing is written until an operation needs the axes in a certain order.
"""

from cairn_import.text import ATOM, Use, numbers


class Array:
    """A C++ value in the body of a function. `pieces` is its expression. `kind` is 'real', 'index', 'truth' or 'tuple'.
    The elements of an index array are below `bound`, which is None as long as nothing says so."""

    def __init__(self, pieces, extents, hint='', strength=ATOM, kind='real', bound=None):
        self.pieces, self.extents, self.hint, self.strength = pieces, tuple(extents), hint, strength
        self.kind, self.bound = kind, bound
        self.is_exact = False  # true if an operation needs exactly this bound
        self.name = self.bound_name = None  # of what the user binds: in C++, and in bind<...>
        self.call = None  # the function of `x | nn::relu` that `relu(x)` calls
        self.is_parameter = self.is_leaf = False
        self.origin = None  # the array of the calling body that a parameter stands for
        self.path = None  # the full name of a parameter of the model
        self.owned = False  # true if the parameter has its name inside the body
        self.weight_norm_of = None  # the module of which this is the weight, computed by weight_norm
        self.elements = None  # of a tuple
        self.repeat = None  # of a call: what is needed to join equal calls
        self.reshape_of = None  # the array with other extents of which this is a reshape
        self.multiple_of = None  # the value of which this is a product with a number, and the number
        self.others = {}  # the same elements in another order or with other extents


class Value:
    """A tensor of PyTorch. Axis i of the tensor is axis `stored[i]` of the array. `None` stands for an axis along which
    all elements are equal, and which the array lacks."""

    def __init__(self, array, stored=None, shape=None):
        self.array = array
        self.stored = tuple(range(len(array.extents))) if stored is None else tuple(stored)
        self.shape = tuple(shape) if shape is not None else tuple(
            1 if at is None else array.extents[at] for at in self.stored)

    @property
    def order(self):
        """The stored axes of the tensor, in the order in which the array stores them."""
        axes = [axis for axis, at in enumerate(self.stored) if at is not None]
        return tuple(sorted(axes, key=lambda axis: self.stored[axis]))

    def permuted(self, axes):
        return Value(self.array, [self.stored[a] for a in axes], [self.shape[a] for a in axes])

    def unsqueezed(self, axis):
        axis %= len(self.stored) + 1
        return Value(self.array, self.stored[:axis] + (None,) + self.stored[axis:],
                     self.shape[:axis] + (1,) + self.shape[axis:])


class Constant:
    """A tensor that depends on nothing that is bound or trained."""

    def __init__(self, tensor, path=None, hint=''):
        self.tensor, self.path, self.hint = tensor, path, hint or (path or 'constant').rpartition('.')[2]

    @property
    def shape(self):
        return tuple(self.tensor.shape)


def derived(array, key, pieces, extents):
    """Another view of the array, which is written once, however often it is needed."""
    if key not in array.others:
        array.others[key] = Array(pieces, extents, array.hint, ATOM, array.kind, array.bound)
    return array.others[key]


def transposed(array, axes):
    axes = tuple(axes)
    if axes == tuple(range(len(axes))):
        return array
    swap = axes == tuple(range(len(axes) - 2)) + (len(axes) - 1, len(axes) - 2)
    head = 'transpose(' if swap else f'transpose<{", ".join(map(str, axes))}>('
    return derived(array, axes, [head, Use(array), ')'], [array.extents[a] for a in axes])


def of_any_batch(extents):
    """The extents of a reshape. The first one, which is mostly that of the batch, is left to the compiler."""
    if len(extents) > 1 and extents[0] != 1:
        return ['-1, ', *numbers(extents[1:], 'Extent')]
    return numbers(extents, 'Extent')


def reshaped(array, extents):
    extents, array = tuple(extents), array.reshape_of or array
    if extents == array.extents:
        return array
    out = derived(array, ('reshape', extents), ['reshape<', *of_any_batch(extents), '>(', Use(array), ')'], extents)
    out.reshape_of = array
    return out


def expanded(array, extents):
    extents = tuple(extents)
    if extents == array.extents:
        return array
    source = array.reshape_of or array
    if array.extents == (1,) * (len(array.extents) - len(source.extents)) + source.extents:
        array = source  # new axes in front need no reshape
    return derived(array, ('expand', extents), ['expand<'] + numbers(extents, 'Extent') + ['>(', Use(array), ')'],
                   extents)


def in_order(value, order, with_equal=True):
    """The array with exactly the axes `order` of the tensor, in this order. Axes that the array lacks are expanded; or
    they get extent 1 if `with_equal` is false."""
    order = [axis % len(value.stored) for axis in order]
    kept = [axis for axis in value.order if axis in order]
    array = reshaped(value.array, [value.shape[axis] for axis in kept])
    wanted = [axis for axis in order if axis in kept]
    array = transposed(array, [kept.index(axis) for axis in wanted])
    array = reshaped(array, [value.shape[axis] if axis in kept else 1 for axis in order])
    return expanded(array, [value.shape[axis] for axis in order]) if with_equal else array


def plain(value):
    """The array with all axes of the tensor, in PyTorch's order."""
    return in_order(value, range(len(value.stored)))


def require_bound(array, bound, refuse, exact=False):
    """Says that the elements of an index array are below `bound`. The array that the user binds is told. If several
    operations say so, the smallest bound holds, unless one of them needs its bound to be exact."""
    if array.kind == 'truth' or array.bound is not None and array.bound <= bound and not exact:
        return
    if array.bound not in (None, bound) and (exact or array.is_exact) and array.is_leaf:
        return refuse(f'the indices {array.hint} are below {array.bound} in one place and below {bound} in another')
    array.bound, array.is_exact = bound, exact
    for source in [array.origin] if array.origin else [p.value for p in array.pieces if isinstance(p, Use)]:
        if source.kind == 'index':
            require_bound(source, bound, refuse, exact)
