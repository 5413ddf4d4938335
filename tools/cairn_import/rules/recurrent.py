"""Single steps of recurrent layers."""

from cairn_import.rules.table import TABLE, value_of
from cairn_import.text import ATOM, Number, Use, joined, quoted
from cairn_import.value import Constant, Value, plain

PARAMETERS = {'w_ih': 'weight_ih', 'w_hh': 'weight_hh', 'b_ih': 'bias_ih', 'b_hh': 'bias_hh'}


def cell(torch_name, name, said):
    """One step of a layer, which may be called for each step with the same parameters."""
    def apply(r, a):
        given = {theirs: getattr(a, mine) for mine, theirs in PARAMETERS.items()}
        owners = {v.array.path.removesuffix(f'.{theirs}') for theirs, v in given.items()
                  if isinstance(v, Value) and v.array.path and v.array.owned}
        if len(owners) != 1 or None in given.values():
            return r.refuse(f'{torch_name} needs parameters of a module of its own, with biases')
        owner = owners.pop()
        is_second = owner in r.model.taken
        r.model.taken.add(owner)
        r.body.has_names = True
        states = list(a.hx) if torch_name == 'lstm_cell' else [a.hx]
        if all(isinstance(v, Constant) and not v.tensor.any() for v in states):
            states = []  # without states, they are zeros
        features = a.w_hh.shape[1]
        arrays = [[Use(plain(value_of(r, v)))] for v in (a.input, *states)]
        layer = [f'nn::{name}<{quoted(r.body.relative(owner))}, ', Number('Features', features), '>']
        pieces = [*(['shared(', *layer, ')'] if is_second else layer), '(', *joined(arrays), ')']
        extents = [a.input.shape[0], features]
        if torch_name != 'lstm_cell':
            return Value(r.array(pieces, extents))
        return [Value(v) for v in r.elements(r.array(pieces, (), ATOM, 'tuple'), [(extents, 'real', None)] * 2)]
    apply.__doc__ = said
    TABLE[torch_name] = apply


cell('lstm_cell', 'lstm_cell', '`nn::lstm_cell<"cell", 48>(x, h, c)`')
cell('gru_cell', 'gru_cell', '`nn::gru_cell<"cell", 48>(x, h)`')
cell('rnn_tanh_cell', 'rnn_cell', '`nn::rnn_cell<"cell", 48>(x, h)`')
