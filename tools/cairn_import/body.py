"""Reads PyTorch's graph of each module into a body: the values of a C++ function."""

import operator
import re
from types import SimpleNamespace

import torch

from cairn_import import functions, modules
from cairn_import.problem import place, source_line
from cairn_import.text import ATOM, PIPE, Call, Element, Use, joined, quoted
from cairn_import.value import Array, Constant, Value

ASSIGNED = re.compile(r'^([A-Za-z_][\w, ]*?)\s*(?:[-+*/@]?=)[^=]')


class Body:
    """What the `forward` of one module computes. `parameters` are the arrays of the function's arguments, and `returned`
    are those of its results."""

    def __init__(self, path, module):
        self.path, self.module = path, module
        self.parameters, self.returned = [], []
        self.has_names = False  # true if parameters, states or random numbers have names inside
        self.random_names, self.constants = {}, {}
        self.repeats = None  # the number and the function of equal children that make up the body

    @property
    def name(self):
        name = re.sub(r'(?<=[a-z])Net', 'net', type(self.module).__name__.replace('ReLU', 'Relu').replace('1D', '1d'))
        return re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', name).lower()

    def relative(self, path):
        """The name inside this body, or None if the path lies outside."""
        if not self.path:
            return path
        return path[len(self.path) + 1:] if path.startswith(self.path + '.') else '' if path == self.path else None


class Reader:
    """Reads one graph into a body. The rules in the tables of functions and modules call its methods."""

    def __init__(self, model, graph, path, body):
        self.model, self.graph, self.path, self.body = model, graph, path, body
        self.values, self.node = {}, None
        self.stale = {}  # nodes whose tensor a called module changed in place, and where
        self.changed_arguments = {}  # placeholders of this graph that are changed in place, and where

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
        self.model.problems.add(self.node, text)
        value = self.node.meta.get('val')
        many = isinstance(value, (tuple, list))
        shapes = [tuple(v.shape) for v in (value if many else [value]) if hasattr(v, 'shape')]
        out = [Value(self.array(['unsupported'], shape)) for shape in shapes]
        return out if many else out[0] if out else None

    def constant(self, tensor, hint):
        """A frozen array that is loaded with the weights. A body has one array for it."""
        name = self.model.constant_name(tensor, hint)
        if name not in self.body.constants:
            out = Array([f'frozen<{quoted("/" + name)}, ', *functions.extents(tensor.shape), '>'], tensor.shape, hint)
            out.is_leaf = True
            self.body.constants[name] = out
        return self.body.constants[name]

    def random_name(self, base):
        """A name for random numbers: that of the dropout module, or one that the body does not have yet."""
        self.body.has_names = True
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
        return re.sub(r'(_\d+)+$', '', node.name)

    # ------------------------------------------------------------------ the graph

    def read(self, arguments):
        given = iter(arguments)
        for node in self.graph.graph.nodes:
            self.node = node
            if node.op == 'placeholder':
                self.values[node] = next(given)
            elif node.op == 'get_attr':
                self.values[node] = self.attribute(node)
            elif node.op == 'call_module':
                self.values[node] = self.call_module(node)
            elif node.op == 'call_function':
                self.values[node] = self.call_function(node)
            else:
                out = self.of(node.args[0])
                return list(out) if isinstance(out, (tuple, list)) else [out]

    def of(self, argument):
        """The value of an argument of a node."""
        if isinstance(argument, torch.fx.Node):
            if argument in self.stale:
                self.model.problems.add(self.node, f'reads a tensor that is changed in place at {self.stale[argument]}')
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
        out = Array([f'param<{quoted(own or "/" + owner)}, '] + functions.extents(leaf.shape) + ['>'], leaf.shape)
        out.is_leaf, out.path, out.owned = True, owner, own is not None
        return Value(out)

    def call_module(self, node):
        target = str(node.target).split('@')[0]
        path = '' if self.path is None and target == 'model' else join(self.path, target)
        graph, original = self.graph.get_submodule(node.target), self.model.module(path)
        arguments = [self.of(a) for a in [*node.args, *node.kwargs.values()]]
        rule = modules.rule_for(original)
        if rule:
            result = graph.graph.find_nodes(op='output')[0].args[0]
            out = rule(self, SimpleNamespace(module=original, path=path, arguments=arguments,
                                             result=result.meta['val'] if isinstance(result, torch.fx.Node) else None))
            if out is not None:
                return out
        reader = Reader(self.model, graph, path, self.body)
        if modules.is_part_of_its_parent(original) or not any(isinstance(a, Value) for a in arguments):
            results = reader.read(arguments)
        else:
            results = self.call_body(reader, original, path, target, arguments)
        for inner, outer in zip(graph.graph.find_nodes(op='placeholder'), node.args):
            if inner in reader.changed_arguments and isinstance(outer, torch.fx.Node):
                self.stale[outer] = reader.changed_arguments[inner]
        return results if len(results) > 1 else results[0]

    def call_body(self, reader, original, path, target, arguments):
        """Reads the module into a body of its own, and calls it. The C++ function neither takes nor returns constants,
        and returns no argument as it is."""
        body = reader.body = Body(path, original)
        nodes = reader.graph.graph.find_nodes(op='placeholder')
        inside = []
        for argument, node in zip(arguments, nodes):
            if isinstance(argument, Value):
                own = Array([], argument.array.extents, '', ATOM, argument.array.kind, argument.array.bound)
                own.origin, own.is_parameter = argument.array, True
                body.parameters.append(own)
                argument = Value(own, argument.stored, argument.shape)
            inside.append(argument)
        results = reader.read(inside)
        arrays = {id(v.array): v.array for v in results if isinstance(v, Value)}
        body.returned = [a for a in arrays.values() if not a.is_parameter]
        used = parameters_in_use(body)
        body.parameters = [p for p in body.parameters if p in used]
        for i, parameter in enumerate(body.parameters):
            parameter.hint = 'xyz'[i] if len(body.parameters) <= 3 else f'x{i}'
        made = self.call_array(body, target, path)
        arrays = {id(a): m for a, m in zip(body.returned, made)} | {
            key: a.origin for key, a in arrays.items() if a.is_parameter}
        return [Value(arrays[id(v.array)], v.stored, v.shape) if isinstance(v, Value) else v for v in results]

    def call_array(self, body, target, path):
        """The arrays that a call of the body returns here."""
        if not body.returned:
            return []
        function = [Call(body)]
        if self.model.is_segment(path):
            function = [f'ckpt<{quoted(target.split(".")[-1])}>('] + function + [')']
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
        if len(body.returned) > 1:
            whole = self.array(pieces, (), strength, 'tuple')
            elements = self.elements(whole, [(a.extents, a.kind, a.bound) for a in body.returned])
            for element, inner in zip(elements, body.returned):
                element.hint = inner.hint
            return elements
        first = body.returned[0]
        out = self.array(pieces, first.extents, strength, first.kind, first.bound)
        if named:
            out.repeat = SimpleNamespace(path=self.body.relative(path) or target, body=body, function=function,
                                         arguments=arguments)
        return [out]

    # ------------------------------------------------------------------ functions

    def call_function(self, node):
        if node.target is operator.getitem:
            out = self.of(node.args[0])[node.args[1]]
            array = out.array if isinstance(out, Value) else None
            while array and (not array.hint or array.pieces and isinstance(array.pieces[0], Element)):
                array.hint = self.hint(node) or array.hint
                array = next(iter(used_by(array)), None) if not array.pieces or not isinstance(
                    array.pieces[0], Element) else None
            return out
        if not isinstance(node.target, torch._ops.OpOverload):
            return self.refuse(f'{getattr(node.target, "__name__", node.target)} has no counterpart in cairn')
        schema = node.target._schema
        name = node.target.overloadpacket.__name__
        given = dict(zip([a.name for a in schema.arguments], node.args)) | node.kwargs
        arguments = {a.name: self.of(given.get(a.name, a.default_value)) for a in schema.arguments}
        base = name[:-1] if name.endswith('_') and not name.endswith('__') else name
        if base not in functions.RANDOM and not any(has_value(v) for v in arguments.values()):
            out = self.fold(node, arguments)
        elif base in functions.TABLE:
            out = functions.TABLE[base](self, SimpleNamespace(**arguments, node=node))
        else:
            return self.refuse(f'{schema.name.replace("aten::", "torch.")} has no counterpart in cairn')
        if schema.is_mutable and base != 'batch_norm':
            self.change_in_place(node, out)
        return out

    def fold(self, node, arguments):
        """Computes what depends on constants alone."""
        def tensors(a):
            return a.tensor if isinstance(a, Constant) else [tensors(b) for b in a] if isinstance(a, list) else a
        args = [tensors(self.of(a)) for a in node.args]
        kwargs = {k: tensors(self.of(v)) for k, v in node.kwargs.items()}
        if node.target._schema.is_mutable:
            args[0] = args[0].clone()
        first = next((a for a in arguments.values() if isinstance(a, Constant)), None)
        keeps = first and node.target.overloadpacket.__name__ in functions.VIEWS | {'to', '_to_copy', 'clone'}
        hint = first.hint if keeps else self.hint(node)

        def constants(t):
            return Constant(t, hint=hint) if isinstance(t, torch.Tensor) else [constants(u) for u in t] if isinstance(
                t, (tuple, list)) else t
        return constants(node.target(*args, **kwargs))

    def change_in_place(self, node, out):
        """An operation changes its first argument. Later readers see the new value, here and in the calling module."""
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return
        if changed.op == 'get_attr' and not str(changed.target).endswith('num_batches_tracked'):
            self.refuse(f'changes {changed.target} in place, which only batch norms do in cairn')
        if changed.op == 'call_function' and isinstance(
                changed.target, torch._ops.OpOverload) and changed.target.overloadpacket.__name__ in functions.VIEWS:
            self.refuse('writes in place to a view of another tensor')
        self.values[changed] = out
        if changed.op == 'placeholder':
            self.changed_arguments[changed] = place(node)


def has_value(argument):
    if isinstance(argument, (list, tuple)):
        return any(has_value(a) for a in argument)
    return isinstance(argument, Value)


def used_by(array):
    """The arrays that the expression of this array reads."""
    return [p.value if isinstance(p, Use) else p.bundle for p in array.pieces if isinstance(p, (Use, Element))]


def parameters_in_use(body):
    """The parameters that the results of the body read."""
    seen, waiting = set(), list(body.returned)
    while waiting:
        array = waiting.pop()
        if array not in seen:
            seen.add(array)
            waiting += used_by(array)
    return {array for array in seen if array.is_parameter}


def join(path, name):
    return f'{path}.{name}' if path else str(name)
