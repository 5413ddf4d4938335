"""Reads PyTorch's graph of each module into a body: the values of a C++ function."""

import operator
import re
from types import SimpleNamespace

import torch
from torch.nn.utils.parametrize import is_parametrized

from cairn_import import modules
from cairn_import.decompose import base_name, decomposition
from cairn_import.problem import BRANCH, CHANGED, COMPLEX, MISSING, SHAPE, first_line, missing, place, source_line, \
    torch_name
from cairn_import.rules import TABLE
from cairn_import.rules.table import VIEWS, extents
from cairn_import.text import ATOM, PIPE, Call, Element, Use, joined, quoted, snake_case
from cairn_import.value import Array, Constant, Value

ASSIGNED = re.compile(r'^([A-Za-z_][\w, ]*?)\s*(?:[-+*/@]?=)[^=]')


class Body:
    """What the `forward` of one module computes, or a call of checkpoint in it, which has the name `segment`. `parameters`
    are the arrays of the function's arguments, and `returned` are those of its results."""

    def __init__(self, path, module, segment=None):
        self.path, self.module, self.segment = path, module, segment
        self.is_whole = False  # true for a segment that is all that the module computes
        self.parameters, self.returned = [], []
        self.has_names = False  # true if parameters, states or random numbers have names inside
        self.random_names, self.segment_names, self.constants = {}, {}, {}
        self.repeats = None  # the number and the function of equal children that make up the body

    @property
    def title(self):
        """What stands above the function as a comment."""
        title = f'{type(self.module).__qualname__} of {type(self.module).__module__}'
        return f'The checkpoint "{self.segment}" in {title}' if self.segment and not self.is_whole else title

    @property
    def name(self):
        if self.segment and not self.is_whole:
            return self.segment
        return snake_case(type(self.module).__name__)

    def relative(self, path):
        """The name inside this body, or None if the path lies outside."""
        if not self.path:
            return path
        return path[len(self.path) + 1:] if path.startswith(self.path + '.') else '' if path == self.path else None


class Unknown:
    """What a refused operation returns if nothing is known of its result. Whatever reads it is unknown, too.

    One of several results of an operation may have no counterpart. It has a `problem`, which is reported if an output of
    the model depends on it. `where` is the first place that reads it."""

    def __init__(self, problem=None, where=''):
        self.problem, self.where = problem, where


UNKNOWN = Unknown()


class Reader:
    """Reads one graph into a body. The rules in the tables of functions and modules call its methods."""

    def __init__(self, model, graph, path, body):
        self.model, self.graph, self.path, self.body = model, graph, path, body
        self.values, self.node = {}, None
        self.stale = {}  # nodes whose tensor a called module changed in place, and where
        self.changed_arguments = {}  # placeholders of this graph that are changed in place, and where
        self.in_segment = False  # true inside of a call of checkpoint

    # ------------------------------------------------------------------ for the rules

    def array(self, pieces, extents, strength=ATOM, kind='real', bound=None):
        return Array(pieces, extents, self.hint(self.node), strength, kind, bound)

    def piped(self, array, stage, extents):
        return self.array([Use(array, 'pipe'), ' | '] + stage, extents, PIPE)

    def elements(self, whole, kinds):
        """The elements of a tuple, of which each has extents, a kind and a bound."""
        whole.elements = [Array([Element(whole, i)], extents, '', ATOM, kind, bound)
                          for i, (extents, kind, bound) in enumerate(kinds)]
        return whole.elements

    def refuse(self, text):
        """Reports a problem, and returns a value in the place of the result, with which the reading goes on."""
        self.model.problems.add(self.node, text)
        return self.unsupported_results(self.node)

    def lacking(self, problem):
        """One of several results, which cairn lacks."""
        return Unknown(problem)

    def depends_on_numbers(self, name):
        """Refuses an operation whose result has a shape that depends on numbers."""
        return self.refuse(SHAPE.format(name))

    def unsupported_results(self, node):
        value = node.meta.get('val')
        many = isinstance(value, (tuple, list))
        out = [self.unsupported(v) for v in (value if many else [value])]
        return out if many else out[0]

    def unsupported(self, tensor):
        if not isinstance(tensor, torch.Tensor) or tensor.is_complex() or not all(type(e) is int for e in tensor.shape):
            return UNKNOWN
        kind = 'real' if tensor.is_floating_point() else 'truth' if tensor.dtype == torch.bool else 'index'
        return Value(self.array(['unsupported'], tensor.shape, ATOM, kind))

    def constant(self, tensor, hint):
        """A frozen array that is loaded with the weights. A body has one array for it."""
        name = self.model.constant_name(tensor, hint)
        if name not in self.body.constants:
            out = Array([f'frozen<{quoted("/" + name)}, ', *extents(tensor.shape), '>'], tensor.shape, hint)
            out.is_leaf = True
            self.body.constants[name] = out
        return self.body.constants[name]

    def random_name(self, base):
        """A name for random numbers: that of the dropout module, or one that the body does not have yet."""
        self.model.draws_random = self.body.has_names = True
        own = self.body.relative(self.path) if self.path is not None else ''
        base = own or base
        count = self.body.random_names[base] = self.body.random_names.get(base, 0) + 1
        return base if count == 1 else f'{base}_{count}'

    def hint(self, node):
        """The variable to which the user's source assigns this value, or the name of the module or operation."""
        if node is None:
            return ''
        if node.op == 'call_module':
            return str(node.target).split('@')[0].split('.')[-1]
        line = ASSIGNED.match(source_line(node))
        names = [n.strip() for n in line[1].split(',')] if line else []
        index = node.args[1] if node.target is operator.getitem else 0
        if names and isinstance(index, int) and index < len(names) and (len(names) == 1 or
                                                                         node.target is operator.getitem):
            return names[index]
        if node.target is operator.getitem:
            return ''
        name = re.sub(r'(_\d+)+$', '', node.name)
        return 'numbers' if name.startswith('lift_fresh') else name  # of a tensor that forward writes as a list

    # ------------------------------------------------------------------ the graph

    def read(self, arguments):
        nodes = list(self.graph.graph.nodes)
        self.values.update(zip([n for n in nodes if n.op == 'placeholder'], arguments))
        self.read_nodes(nodes[:-1])
        self.node = nodes[-1]
        out = self.of(self.node.args[0])
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def read_nodes(self, nodes):
        end = 0
        for i, node in enumerate(nodes):
            if i < end:
                continue
            self.node = node
            if is_mark(node, 'enter'):
                end = 1 + max((nodes.index(user) for user in node.users), default=i)
                self.read_segment(node, nodes[i + 1:end])
            elif is_mark(node, 'leave'):
                self.values[node] = self.of(node.args[0])
            elif is_mark(node, 'arguments'):
                continue
            elif node.op == 'get_attr':
                self.values[node] = self.attribute(node)
            elif node.op == 'call_module':
                self.values[node] = self.call_module(node)
            elif node.op == 'call_function':
                self.values[node] = self.call_function(node)

    def of(self, argument):
        """The value of an argument of a node."""
        if isinstance(argument, torch.fx.Node):
            if argument in self.stale:
                self.model.problems.add(self.node, f'reads a tensor that is changed in place at {self.stale[argument]}: use '
                                                   'the result of the change, or an operation that is not in place')
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self.of(a) for a in argument]
        return argument

    def attribute(self, node):
        path = join(self.path, node.target)
        leaf = self.model.leaf(path)
        if leaf is None:
            at = self.graph
            for part in str(node.target).split('.'):
                at = getattr(at, part)
            return Constant(at.detach()) if isinstance(at, torch.Tensor) else at
        return leaf if isinstance(leaf, Constant) else self.parameter(path)

    def parameter(self, path):
        """The parameter of this name, as the body calls it."""
        leaf = self.model.leaf(path)
        self.body.has_names = True
        owner = self.model.first_name(path)
        own = self.body.relative(path) if owner == path else None
        out = Array([f'param<{quoted(own or "/" + owner)}, '] + extents(leaf.shape) + ['>'], leaf.shape)
        out.is_leaf, out.path, out.owned = True, owner, own is not None
        return Value(out)

    def call_module(self, node):
        target = str(node.target).split('@')[0]
        path = '' if self.path is None and target == 'model' else join(self.path, target)
        graph, original = self.graph.get_submodule(node.target), self.model.module(path)
        arguments = [self.of(a) for a in [*node.args, *node.kwargs.values()]]
        rule = modules.rule_for(original)
        is_plain = not any(is_parametrized(m) or 'forward' in m.__dict__ for m in original.modules())
        if rule and is_plain and not any(isinstance(a, Unknown) for a in arguments):
            results = graph.graph.find_nodes(op='output')[0].args[0]
            results = [results] if isinstance(results, torch.fx.Node) else results
            out = rule(self, SimpleNamespace(module=original, path=path, arguments=arguments, results=results))
            if out is not None:
                return out
        reader = Reader(self.model, graph, path, self.body)
        reader.in_segment = self.in_segment
        if modules.is_part_of_its_parent(original) or not any(isinstance(a, Value) for a in arguments):
            results = reader.read(arguments)
        else:
            results = self.call_body(reader, original, path, target, arguments)
        for inner, outer in zip(graph.graph.find_nodes(op='placeholder'), node.args):
            if inner in reader.changed_arguments and isinstance(outer, torch.fx.Node):
                self.stale[outer] = reader.changed_arguments[inner]
        return results[0] if len(results) == 1 else results  # a module that computes nothing has no result

    def call_body(self, reader, original, path, target, arguments):
        """Reads the module into a body of its own, and calls it. The C++ function neither takes nor returns constants,
        and returns no argument as it is."""
        body = reader.body = Body(path, original)
        nodes = reader.graph.graph.find_nodes(op='placeholder')
        given = dict(zip(nodes, arguments))
        marked = {}  # by the first name, if an argument has several
        for mark in [n for n in reader.graph.graph.nodes if is_mark(n, 'arguments')]:
            for node, name in zip(*mark.args):
                marked.setdefault(node, name)
        marked = {node: name for node, name in marked.items() if node in given}
        inside = {node: enter_body(body, given[node], marked.get(node, '')) for node in [*marked, *nodes]}
        results = leave_body(body, reader.read([inside[node] for node in nodes]), lambda: self.call_array(body, target, path))
        for inner in [p.body for a in body.returned for p in a.pieces if isinstance(p, Call)]:
            inner.is_whole = set(used_by(body.returned[0])) == set(body.parameters) and len(body.returned) == 1
        return results

    def call_array(self, body, target, path):
        """The arrays that a call of the body returns here."""
        if not body.returned:
            return []
        function = [Call(body)]
        if self.model.is_segment(path):
            function = [f'ckpt<{quoted(body.name)}>('] + function + [')']
        named = body.has_names and path != ''
        self.body.has_names = self.body.has_names or body.has_names
        arguments = [p.origin for p in body.parameters]
        block = f'block<{quoted(self.body.relative(path) or target)}>('
        if len(arguments) == 1 and len(body.returned) == 1:
            stage = [block] + function + [')'] if named else function
            pieces, strength = [Use(arguments[0], 'pipe'), ' | '] + stage, PIPE
        else:
            inner = joined([[Use(a)] for a in arguments])
            pieces = [block] + function + [', '] + inner + [')'] if named else function + ['('] + inner + [')']
            strength = ATOM
        out = self.results_of(body, pieces, strength)
        if named and len(out) == 1:
            out[0].repeat = SimpleNamespace(path=self.body.relative(path) or target, body=body, function=function,
                                            arguments=arguments)
        return out

    def results_of(self, body, pieces, strength):
        """The arrays of the results of a call, which `pieces` writes: one array, or the elements of a tuple."""
        if len(body.returned) == 1:
            only = body.returned[0]
            return [self.array(pieces, only.extents, strength, only.kind, only.bound)]
        elements = self.elements(self.array(pieces, (), strength, 'tuple'),
                                 [(a.extents, a.kind, a.bound) for a in body.returned])
        for element, inner in zip(elements, body.returned):
            element.hint = inner.hint
        return elements

    # ------------------------------------------------------------------ functions

    def call_function(self, node):
        unknown = [v for v in map(self.values.get, node.all_input_nodes) if isinstance(v, Unknown)]
        if unknown:
            return Unknown(unknown[0].problem, unknown[0].where or place(node))
        if node.target is operator.getitem:
            out = self.of(node.args[0])[node.args[1]]
            array = out.array if isinstance(out, Value) else None
            while array and (not array.hint or array.pieces and isinstance(array.pieces[0], Element)):
                array.hint = self.hint(node) or array.hint
                array = next(iter(used_by(array)), None) if not array.pieces or not isinstance(
                    array.pieces[0], Element) else None
            return out
        if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled:
            return self.without_gradients(node)
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            text = HIGHER.get(node.target.name(), MISSING.format(node.target.name()))
            self.model.problems.add(self.first_inside(node), text)
            return UNKNOWN
        if not isinstance(node.target, torch._ops.OpOverload):
            arguments = self.of(list(node.args))
            if any(has_value(a) for a in arguments) or node.kwargs:
                name = getattr(node.target, '__name__', str(node.target))
                name = 'torch.vmap' if 'batch_dim' in name else name
                return self.refuse(MISSING.format(name))
            return node.target(*arguments)
        schema = node.target._schema
        name = node.target.overloadpacket.__name__
        given = dict(zip([a.name for a in schema.arguments], node.args)) | node.kwargs
        arguments = {a.name: self.of(given.get(a.name, a.default_value)) for a in schema.arguments}
        problem = self.problem_of(node, arguments)
        if problem:
            return self.refuse(problem)
        base = base_name(name)
        is_constant = name in LIKE or not any(has_value(v) for v in arguments.values())
        if is_constant and torch.Tag.nondeterministic_seeded not in node.target.tags:
            out = self.fold(node, arguments)
        else:
            out = self.by_rule_or_decomposed(base, node, arguments)
        if schema.is_mutable and base != 'batch_norm':
            self.change_in_place(node, out)
        return out

    def by_rule_or_decomposed(self, name, node, arguments):
        """What the rule for the operation returns. If there is no rule, or if it refuses this use of the operation, then
        the operations are read into which PyTorch divides it."""
        problems = self.model.problems
        before = dict(problems.found)
        out = self.by_rule(TABLE[name], node, arguments) if name in TABLE else self.refuse(missing(node.target))
        if len(problems.found) == len(before):
            return out
        refused, problems.found = problems.found, dict(before)
        divided = self.decomposed(node)
        if divided is not None and len(problems.found) == len(before):
            return divided
        problems.found = refused
        return out

    def by_rule(self, rule, node, arguments):
        known = len(self.model.problems.found)
        try:
            return rule(self, SimpleNamespace(**arguments, node=node))
        except Exception as error:
            if len(self.model.problems.found) > known:
                return self.unsupported_results(node)
            return self.refuse(f'the importer has no rule for this use of {node.target.overloadpacket.__name__} '
                               f'({first_line(error)}): write it in another way')

    def decomposed(self, node):
        """Reads the operations into which PyTorch divides an operation. Returns None if PyTorch does not divide it."""
        graph = decomposition(node, lambda n: self.example(self.of(n)), TABLE)
        if graph is None:
            return None
        reader = Reader(self.model, graph, self.path, self.body)
        reader.in_segment = self.in_segment
        given = [self.values[n] for n in node.all_input_nodes]
        results = reader.read(given)
        if len(results) > 1:
            return results
        if isinstance(results[0], Value) and results[0].array not in [v.array for v in given if isinstance(v, Value)]:
            results[0].array.hint = self.hint(node)
        return results[0]

    def problem_of(self, node, arguments):
        """Why no rule can know this operation, or None."""
        schema, tags, name = node.target._schema, node.target.tags, torch_name(node.target)
        values = [v for a in arguments.values() for v in (a if isinstance(a, list) else [a]) if isinstance(v, Value)]
        if schema.is_mutable and node.target.overloadpacket is not torch.ops.aten.batch_norm:
            problem = self.change_problem(node)
            if problem:
                return problem
        if not values:
            return None
        if torch.Tag.data_dependent_output in tags or name == 'torch.item':
            return BRANCH
        if torch.Tag.dynamic_output_shape in tags and node.target.overloadpacket.__name__ not in TABLE:
            return SHAPE.format(name)
        result = node.meta.get('val')
        if any(isinstance(t, torch.Tensor) and t.is_complex() for t in (result if isinstance(result, (list, tuple)) else [result])):
            return f'{name}: {COMPLEX}'
        if name == 'torch.detach' and self.in_segment:
            return ('detach inside of a call of checkpoint has no counterpart, because a segment is differentiated again: '
                    'detach before the call, and pass the result as an argument')
        return None

    def first_inside(self, node):
        """The first node with a place in the user's source: the node itself, or one in the graphs that it calls."""
        graphs = [getattr(self.graph, n.target, None) for n in node.all_input_nodes if n.op == 'get_attr']
        inside = [n for graph in graphs if isinstance(graph, torch.fx.GraphModule) for n in graph.graph.nodes]
        return next((n for n in [node, *inside] if place(n)), node)

    def without_gradients(self, node):
        """Reads what runs under torch.no_grad(), if nothing in it would have a gradient anyway."""
        enabled, inner, *given = node.args
        arguments = [self.of(a) for a in given]
        reader = Reader(self.model, getattr(self.graph, inner.target), self.path, self.body)
        reader.in_segment = self.in_segment
        if not enabled and any(is_trained(a) for a in arguments):
            self.model.problems.add(self.first_inside(node), 'no_grad inside of the model stops gradients: call detach() on the result '
                                           'instead')
        return reader.read(arguments)

    def example(self, argument):
        """A tensor of the shape and the type of a value; the tensor of a constant; or what is no tensor, as it is."""
        if isinstance(argument, Value):
            dtypes = {'real': torch.float32, 'truth': torch.bool}
            return torch.empty(argument.shape, dtype=dtypes.get(argument.array.kind, torch.int64))
        if isinstance(argument, list):
            return [self.example(a) for a in argument]
        return argument.tensor if isinstance(argument, Constant) else argument

    def fold(self, node, arguments):
        """Computes what depends on constants alone, or on the shape of a value."""
        args = [self.example(self.of(a)) for a in node.args]
        kwargs = {k: self.example(self.of(v)) for k, v in node.kwargs.items()}
        if node.target._schema.is_mutable and not self.changes_constants(node):
            args[0] = args[0].clone()
        first = next((a for a in arguments.values() if isinstance(a, Constant)), None)
        keeps = first and node.target.overloadpacket.__name__ in VIEWS | {'to', '_to_copy', 'clone'}
        hint = first.hint if keeps else self.hint(node)

        def constants(t):
            return Constant(t, hint=hint) if isinstance(t, torch.Tensor) else [constants(u) for u in t] if isinstance(
                t, (tuple, list)) else t
        return constants(node.target(*args, **kwargs))

    def aliases(self, changed):
        """The nodes before this one whose tensors share memory with the tensor of `changed`."""
        memory = storage(changed)
        return [n for n in self.values if n is not changed and n is not self.node and memory and storage(n) == memory]

    def changes_constants(self, node):
        """Returns true if the operation writes constants to a tensor of constants that the graph has made. The tensors of
        its views share memory here, too, so that they change with it."""
        if not isinstance(node.args[0], torch.fx.Node):
            return False
        written = [node.args[0], *self.aliases(node.args[0])]
        return all(n.op == 'call_function' for n in written) and all(
            isinstance(self.values[n], Constant) for n in [*written, *node.all_input_nodes])

    def change_problem(self, node):
        """Why this operation must not write to its first argument, or None."""
        changed = node.args[0] if node.args else None
        if not isinstance(changed, torch.fx.Node):
            return None
        owners = [n for n in [changed, *self.aliases(changed)] if n.op == 'get_attr']
        for owner in owners:
            path = join(self.path, owner.target)
            leaf = self.model.leaf(path)
            if leaf is not None and not path.endswith('num_batches_tracked'):
                kind = 'buffer' if isinstance(leaf, Constant) else 'parameter'
                return CHANGED.format(kind, path)
        base = next((n for n in self.values if n is changed or n in self.aliases(changed)), changed)
        if not is_same_view(changed, base) and not self.changes_constants(node):
            return ('writes in place to a view of another tensor, which would change both: make a new tensor with '
                    'torch.where or torch.cat')
        return None

    def change_in_place(self, node, out):
        """An operation changes its first argument. Later readers see the new value, here and in the calling module."""
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return
        for other in [changed, *self.aliases(changed)]:
            if is_same_view(changed, other):
                self.values[other] = out
            elif not self.changes_constants(node):
                self.stale[other] = place(node)
            if other.op == 'placeholder':
                self.changed_arguments[other] = place(node)

    # ------------------------------------------------------------------ segments

    def read_segment(self, entered, nodes):
        """Reads what a call of checkpoint computes into a body of its own, and calls it as a segment. The arguments of the
        segment are those of checkpoint, and what the called function reads from outside."""
        inside = set(nodes)
        body = Body(self.body.path, self.body.module, self.segment_name(entered.args[1]))
        reader = Reader(self.model, self.graph, self.path, body)
        reader.in_segment = True
        outside = dict.fromkeys(n for reading in [entered, *nodes] for n in reading.all_input_nodes
                                if n not in inside and n is not entered)
        for node in outside:
            self.of(node)  # reports a tensor that is stale
            reader.values[node] = enter_body(body, self.values[node], same_names=True)
        before = dict(reader.values)
        reader.read_nodes(nodes)
        results = [n for n in nodes if any(user not in inside for user in n.users)]
        pays = self.model.frees_memory(self.graph, nodes, [n for n in outside if n.op != 'get_attr'] + results)
        values = leave_body(body, [reader.values[n] for n in results],
                            lambda: self.call_segment(body, entered.args[1], pays))
        self.values.update(zip(results, values))
        for node in outside:
            if reader.values[node] is not before[node]:
                self.stale[node] = place(entered)
        self.stale.update({n: where for n, where in reader.stale.items() if n in outside})

    def segment_name(self, base):
        count = self.body.segment_names[base] = self.body.segment_names.get(base, 0) + 1
        return base if count == 1 else f'{base}_{count}'

    def call_segment(self, body, base, pays):
        """The arrays that a call of the segment returns here."""
        self.body.has_names = self.body.has_names or body.has_names
        arguments = [p.origin for p in body.parameters]
        mark = f'ckpt<{quoted(body.segment)}' + ('' if pays else ', allow_useless') + '>('
        self.model.has_useless_segments = self.model.has_useless_segments or not pays
        only = body.returned[0]
        if len(body.returned) == 1 and only.repeat and only.repeat.arguments == body.parameters and len(arguments) == 1:
            # The segment is one block. It goes inside of the block, so that equal blocks can be joined.
            self.body.segment_names[base] -= 1
            name = only.repeat.body.name if only.repeat.body else base
            function = [mark.replace(quoted(body.segment), quoted(name)), *only.repeat.function, ')']
            begin = next(i for i in range(len(only.pieces)) if only.pieces[i:i + len(only.repeat.function)] ==
                         only.repeat.function)
            pieces = [Use(p.value.origin, p.place) if isinstance(p, Use) else p for p in [
                *only.pieces[:begin], *function, *only.pieces[begin + len(only.repeat.function):]]]
            out = self.array(pieces, only.extents, only.strength, only.kind, only.bound)
            out.repeat = SimpleNamespace(path=only.repeat.path, body=only.repeat.body, function=function,
                                         arguments=arguments)
            return [out]
        inner = joined([[Use(a)] for a in arguments])
        if len(arguments) == 1 and len(body.returned) == 1:
            pieces, strength = [Use(arguments[0], 'pipe'), ' | ', mark, Call(body), ')'], PIPE
        else:
            pieces, strength = [mark, Call(body)] + ([', '] + inner if inner else []) + [')'], ATOM
        return self.results_of(body, pieces, strength)


def enter_body(body, value, name='', same_names=False):
    """The value as a body sees it: a parameter of the function, which may have a name, stands for an array of the caller.
    If parameters of the model have the same names in both, they need not be passed."""
    if isinstance(value, (list, tuple)):
        return [enter_body(body, v, name, same_names) for v in value]
    if not isinstance(value, Value):
        return value
    array = value.array
    if same_names and array.is_leaf and not array.name:
        return value
    own = next((p for p in body.parameters if p.origin is array), None)
    if own is None:
        own = Array([], array.extents, name, ATOM, array.kind, array.bound)
        own.origin, own.is_parameter = array, True
        body.parameters.append(own)
    return Value(own, value.stored, value.shape)


def leave_body(body, results, call):
    """The results of a body, as the caller sees them. `call` makes the arrays that the call of the body returns. The C++
    function neither takes nor returns constants, and returns no argument as it is."""
    flat = [v for result in results for v in (result if isinstance(result, (list, tuple)) else [result])]
    arrays = {id(v.array): v.array for v in flat if isinstance(v, Value)}
    body.returned = [a for a in arrays.values() if not a.is_parameter]
    used = parameters_in_use(body)
    body.parameters = [p for p in body.parameters if p in used]
    for i, parameter in enumerate(body.parameters):
        name = 'xyz'[i] if len(body.parameters) <= 3 else f'x{i}'
        parameter.hint = parameter.hint if len(body.parameters) > 1 and parameter.hint else name
    made = dict(zip([id(a) for a in body.returned], call() if body.returned else []))
    made |= {key: array.origin for key, array in arrays.items() if array.is_parameter}

    def left(v):
        return [left(u) for u in v] if isinstance(v, (list, tuple)) else Value(
            made[id(v.array)], v.stored, v.shape) if isinstance(v, Value) else v
    return [left(v) for v in results]


# Operations that read nothing but the shape of their argument.
LIKE = {'zeros_like', 'ones_like', 'full_like', 'empty_like', 'new_zeros', 'new_ones', 'new_full', 'new_empty'}

# What several operations that call functions need, and what to do.
HIGHER = {
    'wrap_with_autocast': 'autocast inside of the model has no counterpart: remove it, and choose the precision in C++, with '
                          'mixed<bf16>',
    'cond': 'torch.cond chooses a branch while the program runs, which cairn cannot: compute both, and choose with torch.where',
    'while_loop': 'while_loop runs until a number says so, which cairn cannot: write a loop with a constant number of steps',
}


def is_mark(node, name):
    return node.op == 'call_function' and node.target is getattr(torch.ops.cairn_import, name).default


def storage(node):
    """The memory of a node's tensor, or None. The tensors of an exported graph have no elements, but still share memory as
    those of the model do."""
    tensor = node.meta.get('val')
    return tensor.untyped_storage()._cdata if isinstance(tensor, torch.Tensor) else None


def is_same_view(node, other):
    a, b = node.meta['val'], other.meta['val']
    return a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()


def is_trained(argument):
    """Returns true if the value can have a gradient: it is neither a constant nor bound by the user."""
    return isinstance(argument, Value) and argument.array.kind == 'real' and not (
        argument.array.name or all(a.name for a in used_by(argument.array)) and used_by(argument.array))


def has_value(argument):
    if isinstance(argument, (list, tuple)):
        return any(has_value(a) for a in argument)
    return isinstance(argument, (Value, Unknown))


def used_by(array):
    """The arrays that the expression of this array reads."""
    return [p.value if isinstance(p, Use) else p.bundle for p in array.pieces if isinstance(p, (Use, Element))]


def reached(arrays):
    """The given arrays and all arrays from which they are computed, in the same body."""
    seen, waiting = {}, list(arrays)
    while waiting:
        array = waiting.pop()
        if array not in seen:
            seen[array] = None
            waiting += used_by(array)
    return list(seen)


def parameters_in_use(body):
    """The parameters that the results of the body read."""
    return {array for array in reached(body.returned) if array.is_parameter}


def join(path, name):
    return f'{path}.{name}' if path else str(name)
