"""Operations that PyTorch itself divides into others: `smooth_l1_loss` into `abs`, `where` and products, for example."""

import logging

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx

# The decompositions of these operations have other gradients than the operations.
WHOLE = {'embedding'}


def base_name(name):
    """The name of the operation that computes the same and leaves its argument as it is."""
    return name[:-1] if name.endswith('_') and not name.endswith('__') else name


def functional(operation):
    packet = getattr(torch.ops.aten, base_name(operation.overloadpacket.__name__), None)
    return getattr(packet, operation._overloadname, operation) if operation._schema.is_mutable else operation


def decomposition(node, example, known):
    """The graph of the operations into which PyTorch divides the operation of a node. Its placeholders stand for
    `node.all_input_nodes`, for which `example` gives tensors. Operations in `known` are not divided further. Returns None
    if PyTorch does not divide the operation."""
    operation, nodes = functional(node.target), node.all_input_nodes
    if operation.overloadpacket.__name__ in WHOLE or torch.Tag.nondeterministic_seeded in operation.tags:
        return None

    def call(*given):
        given = dict(zip(nodes, given))
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), given.__getitem__)
        return operation(*args, **kwargs)
    table = {op: function for op, function in decomposition_table.items()
             if op is operation or base_name(op.name().partition('::')[2].partition('.')[0]) not in known}
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # make_fx prints what it cannot follow
    try:
        graph = make_fx(call, table, tracing_mode='fake')(*[example(n) for n in nodes])
    except Exception:
        return None
    finally:
        logging.disable(level)
    graph.graph.eliminate_dead_code()
    return None if any(n.target is operation for n in graph.graph.nodes) else graph
