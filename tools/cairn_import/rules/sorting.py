"""Operations that sort."""

from cairn_import.rules.reductions import of_pair
from cairn_import.rules.shapes import axis_of
from cairn_import.rules.table import as_real, rule
from cairn_import.text import ATOM, Number, Use
from cairn_import.value import Value


def ordered(r, x, dim, head, settings, count=None, kind='real'):
    """A function that orders the elements along an axis, and returns all, or the first `count`. `head` has the pieces in
    front of the axis. Results of the kind 'index' are positions along the axis."""
    x, at, dim = axis_of(r, as_real(r, x), dim)
    extents = list(x.array.extents)
    extents[at] = extents[at] if count is None else count
    axis = [] if count is not None and at == len(extents) - 1 else [str(at)] if count is None else [f', {at}']
    array = r.array([*head, *axis, '>(', Use(x.array), *settings, ')'], extents, ATOM, kind,
                    x.shape[dim] if kind == 'index' else None)
    return Value(array, x.stored, [extents[at] if d == dim else e for d, e in enumerate(x.shape)])


@rule('sort')
def _(r, a):
    """`sort<Axis>(x)` and `argsort<Axis>(x)`, also `descending`"""
    settings = [', descending'] if a.descending else []
    return of_pair(ordered(r, a.self, a.dim, ['sort<'], settings), ordered(r, a.self, a.dim, ['argsort<'], settings, kind='index'))


@rule('argsort')
def _(r, a):
    """`argsort<Axis>(x)`, also `descending`"""
    return ordered(r, a.self, a.dim, ['argsort<'], [', descending'] if a.descending else [], kind='index')


@rule('topk')
def _(r, a):
    """`topk<3, Axis>(x)` and `argtopk<3, Axis>(x)`, also `smallest`"""
    settings = [] if a.largest else [', smallest']
    count = Number('Count', a.k)
    return of_pair(ordered(r, a.self, a.dim, ['topk<', count], settings, a.k),
                   ordered(r, a.self, a.dim, ['argtopk<', count], settings, a.k, 'index'))
