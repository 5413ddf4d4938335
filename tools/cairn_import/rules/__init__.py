"""What each operation of PyTorch becomes. `TABLE` has a rule for each name of an ATen operation. A rule gets the reader
of the graph and the arguments by the names of the operation's schema, and returns a value. The first line of its
docstring says what becomes of the operation, for docs/from-pytorch-model.md."""

from cairn_import.rules import elementwise, images, indexing, lookups, losses, norms, products, reductions, recurrent, shapes, \
    sorting  # noqa: F401
from cairn_import.rules.table import TABLE  # noqa: F401
