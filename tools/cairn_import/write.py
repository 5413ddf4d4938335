"""Writes the bodies as C++ functions. Bodies that differ in numbers alone become one template."""

import re

from cairn_import.body import reached, used_by
from cairn_import.text import ATOM, PIPE, RESERVED, Call, Element, Number, Use, quoted
from cairn_import.value import Array

WIDTH = 110
class Text:
    """The text of one body: its statements, and its result. Both are lists of strings, numbers and calls."""

    def __init__(self, body):
        self.body, self.statements = body, []
        self.names, self.taken = {}, RESERVED | {a.name for a in reached(body.returned) if a.name}
        self.counts = {}
        self.count(body.returned)
        for parameter in body.parameters:
            self.names[parameter] = self.name(parameter.hint or 'x')
        self.results = [self.pieces(a, 'result') for a in body.returned]

    def count(self, arrays):
        self.counts = dict.fromkeys(arrays, 1)
        for array in reached(arrays):
            for source in used_by(array):
                self.counts[source] = self.counts.get(source, 0) + 1

    def name(self, hint):
        hint = re.sub(r'\W', '_', hint) or 'value'
        hint = hint if hint[0].isalpha() else 'value'
        if hint == 'x' and hint in self.taken:
            hint = next((other for other in 'yzuv' if other not in self.taken), 'x')
        base, k = hint, 1
        while hint in self.taken:
            k += 1
            hint = f'{base}_{k}' if base not in RESERVED else f'{base}_' + (str(k - 1) if k > 2 else '')
        self.taken.add(hint)
        return hint

    def pieces(self, array, place):
        """The array where it is read: its name, or its expression, with parentheses where they are needed."""
        if array.name:
            return [array.name]
        if array not in self.names and self.needs_name(array):
            self.state(array)
        if array in self.names:
            return [self.names[array]]
        out, strength = self.expression(array, place)
        if place not in ('result', 'pipe') and strength != ATOM and len(plain_text(out)) > 70 or len(plain_text(out)) > 400:
            self.state(array)
            return [self.names[array]]
        kind, _, level = place.partition(' ')
        needs = {'pipe': strength not in (PIPE, ATOM), 'left': level and strength < int(level),
                 'right': level and strength <= int(level)}.get(kind, False)
        return ['(', *out, ')'] if needs else out

    def needs_name(self, array):
        is_element = any(isinstance(p, Element) for p in array.pieces)  # named where the tuple is named
        is_read_again = self.counts.get(array, 0) > 1 and not array.is_leaf and bool(used_by(array))
        return array.kind == 'tuple' or is_read_again and not is_element

    def state(self, array):
        """Writes a statement that gives the array a name."""
        out, _ = self.expression(array, 'result')
        if array.elements:
            names = [self.name(e.hint or f'{array.hint}_{i}') for i, e in enumerate(array.elements)]
            self.names.update(zip(array.elements, names))
            self.names[array] = ''
            self.statements.append(([f'const auto [{", ".join(names)}] = ', *out, ';']))
        else:
            self.names[array] = self.name(array.hint)
            self.statements.append([f'const auto {self.names[array]} = ', *out, ';'])

    def expression(self, array, place):
        if any(isinstance(p, Element) for p in array.pieces):
            bundle = array.pieces[0].bundle
            if bundle not in self.names:
                self.state(bundle)
            return [self.names[array]], ATOM
        if array.call:
            source = used_by(array)[0]
            inner = self.pieces(source, 'pipe')
            chained = source not in self.names and not source.is_leaf and source.strength == PIPE
            if place == 'pipe' or chained or place == 'result' and source in self.body.parameters:
                return [*inner, ' | ', *array.stage], PIPE
        out = []
        for piece in array.pieces:
            out += self.pieces(piece.value, piece.place) if isinstance(piece, Use) else [piece]
        return out, array.strength

    @property
    def stages(self):
        """The layers of a body that only applies one layer after another to its argument; or None."""
        if self.statements or len(self.results) != 1 or len(self.body.parameters) != 1:
            return None
        result, own = self.results[0], self.names[self.body.parameters[0]]
        # The argument stands at the front alone, and nothing follows that binds weaker than a pipe.
        if result[0] != own or len(result) < 3 or result[1] != ' | ':
            return None
        words = re.findall(r'\w+', plain_text(result[1:]))
        return result[2:] if own not in words else None

    def tokens(self):
        """The function as one list of strings, numbers and calls. '\n' is a line break, '\t' and '\b' indent."""
        if self.stages:
            return self.stages
        many = len(self.results) > 1
        out = []
        for statement in self.statements:
            out += ['\n', *statement]
        out += ['\n', 'return std::tuple{' if many else 'return ']
        for i, result in enumerate(self.results):
            out += ([', '] if i else []) + result
        pack, out = self.packed(out)
        parameters = pack or ', '.join(f'auto {self.names[p]}' for p in self.body.parameters)
        is_layer = len(self.body.parameters) == 1 and not many
        head = ('layer(' if is_layer else '') + f'[]({parameters}) {{'
        return [head, *out, '};' if many else ';', '\n}' + (')' if is_layer else '')]

    def packed(self, pieces):
        """Writes parameters that come from one list as a pack, if they are read once, as a whole. Functions that take
        lists of different lengths then become one function. Returns the parameters, or '', and the pieces."""
        names = [self.names[p] for p in self.body.parameters]
        listed = [piece for name in names for piece in (', ', name)][1:]
        words = re.findall(r'\w+', plain_text(pieces))
        at = next((i for i in range(len(pieces)) if pieces[i:i + len(listed)] == listed), None)
        if len(names) < 2 or len({p.hint for p in self.body.parameters}) > 1 or at is None or \
                any(words.count(name) > 1 for name in names):
            return '', pieces
        if 'pack' not in self.names:  # the text may be asked for again
            self.names['pack'] = names[0] if names[0].endswith('s') else self.name(names[0].rstrip('_') + 's')
        pack = self.names['pack']
        return f'auto... {pack}', [*pieces[:at], f'{pack}...', *pieces[at + len(listed):]]


def plain_text(pieces):
    return ''.join('call' if isinstance(p, Call) else str(p) for p in pieces)


def join_repeats(body):
    """Joins calls of equal modules whose names count from 0, one after another, into one `repeat`."""
    arrays, readers = reached(body.returned), {}
    for array in arrays:
        for source in used_by(array):
            readers.setdefault(source, []).append(array)
    for call in [a for a in arrays if a.repeat and isinstance(a.repeat.function[0], Call)]:
        inner = call.repeat.function[0].body
        text_of(inner)
        if inner.repeats and len(call.repeat.arguments) == 1:
            call.pieces = [Use(call.repeat.arguments[0], 'pipe'), ' | ',
                           *repeated(inner.repeats[0], call.repeat.path, inner.repeats[1])]
            call.repeat = None
    for last in [a for a in arrays if a.repeat]:
        chain = [last]
        stem, _, index = last.repeat.path.rpartition('.')
        if not index.isdigit():
            continue
        while int(index) > 0:
            before = chain[0].repeat.arguments[0]
            if not before.repeat or before.repeat.path != numbered(stem, int(index) - 1) or len(readers[before]) > 1 \
                    or key(before.repeat.function) != key(last.repeat.function) or len(before.repeat.arguments) > 1:
                break
            chain.insert(0, before)
            index = before.repeat.path.rpartition('.')[2]
        following = [r for r in readers.get(last, []) if r.repeat and
                     r.repeat.path == numbered(stem, int(last.repeat.path.rpartition('.')[2]) + 1) and
                     key(r.repeat.function) == key(last.repeat.function)]
        if int(index) == 0 and len(chain) > 1 and not following and len(last.repeat.arguments) == 1:
            first = chain[0].repeat.arguments[0]
            if stem:
                last.pieces = [Use(first, 'pipe'), ' | ', *repeated(len(chain), stem, last.repeat.function)]
            elif [first] == body.parameters and [last] == body.returned:
                body.repeats = len(chain), last.repeat.function


def numbered(stem, index):
    return f'{stem}.{index}' if stem else str(index)


def repeated(count, stem, function):
    return [f'repeat<{count}, {quoted(stem)}>([](auto) {{ return ', *function, '; })']


def key(pieces):
    """The text of a function with everything that it calls."""
    out = []
    for piece in pieces:
        if isinstance(piece, Call):
            text = text_of(piece.body)
            out.append('{' + key(text.tokens()) + '}')
        else:
            out.append(str(piece))
    return ''.join(out)


def text_of(body):
    if not hasattr(body, 'text'):
        join_repeats(body)
        body.text = Text(body)
    return body.text


class Template:
    """One C++ function, for all bodies that differ in numbers alone."""

    def __init__(self, name, bodies):
        self.name, self.bodies = name, bodies
        self.parameters = []  # names of the template's parameters
        self.columns = []  # for each number of the text, the index of its parameter, or None

    def arguments(self, body):
        return self.values[body]


class Writer:
    def __init__(self, root):
        self.root, self.templates, self.of = root, [], {}
        self.shapes = {}
        order = []
        self.collect(root, order)
        groups = {}
        for body in order:
            groups.setdefault(self.skeleton(body), []).append(body)
        self.inlined = {bodies[0] for bodies in groups.values() if self.is_short(bodies)}
        taken = set(RESERVED).union(*(text_of(body).taken for body in order))
        for bodies in groups.values():
            if bodies[0] is root or bodies[0] in self.inlined:
                continue
            base = bodies[0].name + ('_layer' if bodies[0].name in taken else '')
            name, k = base, 1
            while name in taken:
                k += 1
                name = f'{base}_{k}'
            taken.add(name)
            template = Template(name, bodies)
            for body in bodies:
                self.of[body] = template
            self.fill(template)
            self.templates.append(template)

    def is_short(self, bodies):
        """A body that is called in one place, and is a short chain of layers, is written in this place."""
        stages = text_of(bodies[0]).stages
        container = type(bodies[0].module).__module__.startswith('torch.nn')
        return len(bodies) == 1 and stages is not None and len(plain_text(stages)) < (400 if container else 60)

    def collect(self, body, order):
        if body in order:
            return
        for piece in text_of(body).tokens():
            if isinstance(piece, Call):
                self.collect(piece.body, order)
        if body not in order:
            order.append(body)

    def skeleton(self, body):
        """The text without its numbers."""
        if body not in self.shapes:
            self.shapes[body] = ''.join(
                '#' if isinstance(p, Number) else '{' + self.skeleton(p.body) + '}' if isinstance(p, Call) else str(p)
                for p in text_of(body).tokens())
        return self.shapes[body]

    def expanded(self, pieces):
        """The pieces with the names of called functions, and with the arguments of their templates."""
        out = []
        for piece in pieces:
            if not isinstance(piece, Call):
                out.append(piece)
            elif piece.body in self.inlined:
                out += self.expanded(text_of(piece.body).tokens())
            else:
                template = self.of[piece.body]
                values = template.values[piece.body]
                out.append(template.name)
                if template.parameters:
                    out.append('<')
                    for i, (name, value) in enumerate(zip(template.parameters, values)):
                        out += ([', '] if i else []) + [Number(name, value)]
                    out.append('>')
        return out

    def fill(self, template):
        rows = [self.expanded(text_of(body).tokens()) for body in template.bodies]
        columns = [[p for p in row if isinstance(p, Number)] for row in rows]
        found, names = {}, []
        for column in zip(*columns):
            values = tuple(n.value for n in column)
            if len(set(values)) > 1 and values not in found:
                role, k = column[0].role, 1
                while role in names:
                    k += 1
                    role = f'{column[0].role}{k}'
                names.append(role)
                found[values] = role
        template.parameters = names
        template.values = {body: [values[i] for values in found] for i, body in enumerate(template.bodies)}
        text, at = [], iter(zip(*columns))
        for piece in rows[0]:
            if isinstance(piece, Number):
                values = tuple(n.value for n in next(at))
                piece = found.get(values, str(piece))
            text.append(piece)
        template.text = text

    def functions(self):
        out = []
        for template in self.templates:
            comment = f'/// {template.bodies[0].title}'
            head = f'template <{", ".join("int " + n for n in template.parameters)}>\n' if template.parameters else ''
            out.append(f'{comment}\n{head}' + wrapped([f'constexpr auto {template.name} = ', *template.text, ';']))
        return out


def wrapped(pieces):
    """The text with line breaks after operators and commas, where a line would be too long."""
    lines = ''.join(str(p) for p in pieces).split('\n')
    if len(lines) == 3 and len(' '.join(lines)) <= 80:
        lines = [' '.join(lines)]
    inner = len(lines) > 1
    out = []
    for i, line in enumerate(lines):
        indent = '  ' if inner and 0 < i < len(lines) - 1 else ''
        out += broken(indent + line)
    return '\n'.join(out)


def broken(line):
    out, indent = [], re.match(' *', line)[0] + '    '
    while len(line) > WIDTH:
        depth, best = 0, None
        start = len(line) - len(line.lstrip())
        for i, c in enumerate(line[:WIDTH]):
            opens = c in '([{' or c == '<' and line[i - 1:i].isalnum()
            closes = c in ')]}' or c == '>' and line[i - 1:i] != ' '
            depth += (opens - closes) * (2 if c in '<>' else 1)
            after = c in '|+*,=' and line[i + 1:i + 2] == ' ' and (c == ',' or line[i - 1] == ' ')
            at = i + 1 if after else None
            if at is not None and i > start + 8 and (best is None or depth <= best[0]):
                best = (depth, at)
        if best is None:
            break
        out.append(line[:best[1]])
        line = indent + line[best[1]:].lstrip()
    return [*out, line]
