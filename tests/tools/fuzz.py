#!/usr/bin/env -S python3 -B
"""Writes random models and checks that the laws hold for them.

`fuzz.py write OPERATIONS FIRST COUNT` prints the models with these seeds as tests.
`fuzz.py COUNT [FIRST [OPERATIONS [gradients]]]` compiles and runs this number of models, on both compilers, and some
with sanitizers. With `gradients`, only models with values in several roles are chosen, and only their gradients are
checked, by one compiler.

All models that are written must compile. Each parameter must reach the loss, and each argument must be read. Therefore
the values that a body computes and nothing reads are joined into its result at the end.
"""

import collections
import copy
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import finish, for_each, own_flags, top

shared = """struct keeps_products {
  constexpr bool operator()(const saveable& v) const {
    return (v.operation == "matmul" || v.operation == "attention") && v.flops > 0;
  }
};
#ifdef _OPENMP
using some_threads = threads<2>;
#else
using some_threads = threads<1>;
#endif
// Placed segments, in three quarters of the bytes or in the least that is possible; where there is nothing to place, no option.
template <auto Model, class... Options>
using in_less = decltype([] {
  using unplaced = test::step_of<Model, Options...>;
  if constexpr (plans::search::model_blocks<typename unplaced::model, 0, unplaced::threads>::placeable == 0) {
    return any_size{};
  } else {
    constexpr std::int64_t least = test::peak<test::step_of<Model, fit<1>, Options...>>;
    return fit<std::max(least, test::peak<unplaced> * 3 / 4)>{};
  }
}());
// The groups of nn::tiled<up_to<N>> if at most `Groups` groups are chosen. With one group, the layer stays as it is.
template <int N, int Groups>
constexpr auto chosen = [] {
  if constexpr (Groups > 1) return std::min(N, Groups);
  else return up_to<N>;
}();"""
extents = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 31, 33]
most_elements = 1500
most_bound = 8  # largest magnitude of a number; a value that may be larger is scaled
most_depth = 4  # largest number of nested segments
product_policies = {"save_matmuls", "save_unbatched_matmuls", "keeps_products"}
loop_policies = ["store_all", "revolve<1>", "revolve<2>", "two_level<2, 1>", "segment_every<2>", "fit<4096>"]
# Update rules that an optimizer next to the program may have, too, and update rules that read whole tensors.
rules = ["adamw_options{.lr = 0.01}", "sgd_options{.lr = 0.01, .momentum = 0.9}", "lion_options{.lr = 0.01}",
         "rmsprop_options{.lr = 0.01, .momentum = 0.5, .centered = true}"]
whole_rules = ["lamb_options{}", "adafactor_options{}", 'adamw_options{}>, update<muon_options{}, "head.weight"']
most_slopes = 1  # largest number of gradients as values; each of them lengthens everything behind it


def count(shape):
    return math.prod(shape)


def quoted(name):
    return f'"{name}"'


def braced(*numbers):
    return "".join(f", {n}" for n in numbers)


def apart(*shape):
    """Returns an array whose elements differ along every axis. It is added to values that may be constant, before
    operations that are so steep there that difference quotients notice their curvature."""
    return f"generated<{', '.join(map(str, shape))}>([](auto... i) {{ return (0.2 + ... + (0.7 * (i % 5))); }})"


def broadcast(a, b):
    """Broadcasts shapes by NumPy's rule. Returns None if the shapes do not fit."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b))
    return tuple(map(max, pairs)) if all(x == y or 1 in (x, y) for x, y in pairs) else None


class value:
    """A variable of a body. `own` is true if it is computed from the arguments of the body. `of` are the variables with
    respect to which it has gradients. Indices are less than `below`, and real numbers have `below` 0. Views, parts and
    tagged copies have the same `root` as their value. `what` is the kind of the variable, for the count of values with
    several roles."""

    def __init__(self, text, shape, bound, own=True, of=(), below=0, what="value"):
        self.text, self.shape, self.bound, self.own, self.of, self.below = text, shape, bound, own, {text, *of}, below
        self.kind, self.what, self.root = (shape, below), what, self


class function:
    """A body that can be called again. `names` are the names of its parameters, as seen from inside. `has` is what
    policies may ask for. `applied` are the functions that it calls, which may be shared. `path` consists of the names
    of the blocks and loops around its parameters, as a caller sees them."""

    def __init__(self, text, of, results, main):
        self.text, self.arguments, self.results, self.main = text, [v.kind for v in of.arguments], results, main
        self.names, self.has, self.reusable, self.detaches = of.names, of.has, of.reusable, of.detaches
        self.updates, self.once, self.applied, self.path = of.updates, of.once, of.applied, ""

    def under(self, prefix):
        """Returns the function with one more block or loop around its parameters."""
        made = copy.copy(self)
        made.path = ".".join(filter(None, [prefix, self.path]))
        return made


class model:
    def __init__(self, seed, operations):
        self.draw = random.Random(seed)
        self.left = self.draw.randint(operations // 3, operations)
        self.functions, self.shared, self.made, self.slopes = [], {}, 0, 0
        self.loops = False  # true if a body is planned once
        self.chooses = False  # true if `fit` chooses the groups of tiled layers
        # kinds of values with several roles; "loop" means several roles in one loop, "shared" means a shared layer
        self.roles = set()
        self.text = []
        self.labels = None
        if self.chance(0.5):
            shape = tuple(self.draw.choice(extents[:6]) for _ in range(self.draw.randint(0, 2)))
            self.text.append(f'constexpr auto y = labels<"y", 5{braced(*shape)}>;')
            self.labels = value("y", shape, 5, below=5)
        shape = self.shape(self.draw.choice([1, 2, 2, 2, 3]))
        self.text.append(f'constexpr auto x = input<"x"{braced(*shape)}>;')
        self.input, more = value("x", shape, 2, what="input"), []
        if self.chance(0.3):
            shape = self.shape(self.draw.randint(0, 2))
            self.text.append(f'constexpr auto z = input<"z"{braced(*shape)}>;')
            more.append(value("z", shape, 2, what="input"))
        body(self, [self.input, *more] + [self.labels] * bool(self.labels), 0, False).program()
        self.inputs = ["x"] + [v.text for v in more]

    def name(self, kind):
        self.made += 1
        return f"{kind}{self.made}"

    def chance(self, probability):
        return self.draw.random() < probability

    def shape(self, rank):
        while True:
            shape = tuple(self.draw.choice(extents) for _ in range(rank))
            if count(shape) <= most_elements:
                return shape


class body:
    """A body while it is written: the program or a function. It is inside of `depth` segments, and may be a segment
    itself."""

    def __init__(self, of, arguments, depth, segment):
        self.of, self.draw, self.depth, self.segment = of, of.draw, depth, segment
        self.arguments = arguments
        self.values, self.unread = [v for v in arguments if not v.below], [v for v in arguments if not v.below]
        self.places, self.unread_places = [v for v in arguments if v.below], [v for v in arguments if v.below]
        self.lines, self.names, self.has, self.applied = [], [], set(), []
        self.reusable, self.detaches, self.updates, self.once = True, False, False, False
        if not arguments:
            self.fresh()

    # What a body consists of. `has` contains its tags, and the policies that find something in it.

    def add(self, text, shape, bound, *reads):
        """Adds a variable. It is scaled if its numbers may be large."""
        if bound > most_bound:
            squash = self.draw.choice(["tanh({})", "softmax({})", "({}) * constant<%g>" % (most_bound / 2 / bound)])
            text, bound = squash.format(text), most_bound / 2
            if text.startswith("softmax") and not shape:
                text = text.replace("softmax", "sigmoid", 1)
        of = set().union(*(v.of for v in reads)) if not text.startswith("detach") else ()
        made = value(self.of.name("v"), shape, bound, any(v.own for v in reads), of)
        self.lines.append(f"const auto {made.text} = {text};")
        self.read(*reads)
        self.values.append(made)
        self.unread.append(made)
        return made

    def add_places(self, text, shape, below, *reads):
        """Adds indices. The value in which they are found stays unread, because no gradient goes to it through
        indices."""
        if count(shape) > most_elements:
            return None
        made = value(self.of.name("i"), shape, below, any(v.own for v in reads), below=below)
        self.lines.append(f"const auto {made.text} = {text};")
        self.read(*(v for v in reads if v.below))
        self.places.append(made)
        self.unread_places.append(made)
        return made

    def read(self, *values):
        roots = collections.Counter(v.root for v in values)
        self.of.roles.update(v.what for v in values if roots[v.root] > 1)
        self.unread = [v for v in self.unread if v not in values]
        self.unread_places = [v for v in self.unread_places if v not in values]

    def leaf(self, shape, fit=None):
        """Returns the text of a parameter. If there is `fit`, all bodies of the model that use the same key share the
        parameter."""
        if fit and self.of.chance(0.2):
            name = self.of.shared.setdefault((fit, shape), "/" + self.of.name("w"))
            kind = "param"
        else:
            name, kind = self.of.name("p"), "frozen" if self.of.chance(0.2) else "param"
        if kind == "param":
            self.names.append(name)
        return f'{kind}<"{name}"{braced(*shape)}>'

    def fresh(self):
        shape = self.of.shape(self.draw.randint(0, 3))
        made = self.add(self.leaf(shape), shape, 1.2)
        made.what = "parameter"
        return made

    def any(self):
        """Returns a value, preferably one that is unread so far."""
        return self.draw.choice(self.unread if self.unread and self.of.chance(0.6) else self.values)

    def again(self, v):
        """Returns a second role for v: the value itself, a tagged copy, or a part that fits next to v. Most often it
        returns None."""
        if not self.of.chance(0.3):
            return None
        axes = [axis for axis, n in enumerate(v.shape) if n > 1]
        kind = self.draw.choice(["itself", "itself", "tag", "part"])
        if kind != "part" or not axes:
            return self.tag(v) if kind == "tag" else v
        axis = self.draw.choice(axes)
        begin = self.draw.randrange(v.shape[axis])
        shape = v.shape[:axis] + (1,) + v.shape[axis + 1:]
        return self.moved(f"slice<{axis}, {begin}, {begin + 1}>({v.text})", shape, v, "slice")

    def role(self, v):
        """Returns v in a role for which every shape fits: the value itself, a tagged copy, a view, or a part."""
        return (self.of.chance(0.4) and self.draw.choice([self.tag, self.view, self.slice])(v)) or v

    def any_places(self):
        """Returns indices or None, preferably indices that are unread so far."""
        from_unread = self.unread_places and self.of.chance(0.6)
        return self.draw.choice(self.unread_places if from_unread else self.places) if self.places else None

    # Operations. Each function adds a value, or returns None if the drawn values do not fit.

    def unary(self):
        v = self.any()
        text, bound = self.draw.choice([
            ("tanh({})", 1), ("sigmoid({})", 1), ("relu({})", v.bound), ("gelu({})", v.bound), ("-{}", v.bound),
            ("exp(tanh({}))", 2.8), ("square({})", v.bound**2), ("log(square({}) + 1_c)", 2 * math.log(2 + v.bound)),
            ("sqrt(square({}) + 0.1_c)", v.bound + 1), ("{} * -0.7_c", v.bound), ("maximum({}, 0.1_c)", v.bound + 1),
            ("pow({}, 3_c)", v.bound**3), ("sin({})", 1), ("cos({})", 1), ("abs({})", v.bound), ("silu({})", v.bound),
            ("softplus({})", v.bound + 1), ("leaky_relu<0.2>({})", v.bound), ("clamp({}, -1_c, 1_c)", 1), ("erf({})", 1),
            ("log1p(square({}))", 2 * math.log(2 + v.bound)), ("rsqrt(square({}) + 0.5_c)", 1.5),
            ("where({0} > 0.1_c, {0}, 0.5_c)", v.bound + 1),
            ("exp({} * 0.25_c)", math.exp(v.bound / 4)), ("2_c / (1_c + square({}))", 2), ("elu({})", v.bound + 1),
            ("elu<0.5>({})", v.bound + 1), ("mish({})", v.bound), ("hardswish({})", v.bound), ("hardsigmoid({})", 1),
            ("gelu_tanh({})", v.bound), ("masked_fill({0}, {0} > 0.1_c, 0.5_c)", v.bound + 1),
            ("{0} * sigmoid(floor({0} * 3_c + 0.3_c) - ceil({0} + 0.3_c))", v.bound),
            ("{0} * tanh(round({0} * 2_c))", v.bound)])
        return self.add(text.format(v.text), v.shape, bound, v)

    def binary(self):
        a = self.any()
        b = self.again(a) or self.any()
        if self.arguments and not self.segment and a.own and self.of.chance(0.05):
            b = self.of.input
        return self.combine(a, b)

    def combine(self, a, b):
        shape = broadcast(a.shape, b.shape)
        if shape is None or count(shape) > most_elements:
            return None
        text, bound = self.draw.choice([
            ("{} + {}", a.bound + b.bound), ("{} - {}", a.bound + b.bound), ("{} * {}", a.bound * b.bound),
            ("maximum({}, {})", max(a.bound, b.bound)), ("{} / (1_c + square({}))", a.bound),
            ("minimum({}, {})", max(a.bound, b.bound)), ("where({0} < {1}, {1}, {0})", max(a.bound, b.bound)),
            ("tanh({} + {})", 1), ("tanh({}) * sigmoid({})", 1)])
        return self.add(text.format(a.text, b.text), shape, bound, a, b)

    def with_generated(self):
        """Adds an operation with a constant array, which a fused loop or a product reads."""
        v = self.any()
        if len(v.shape) > 1 and self.of.chance(0.3):
            n = v.shape[-1]
            if n * count(v.shape) > 4 * most_elements:
                return None
            array = f"generated<{n}, {n}>([](int i, int j) {{ return 1.0 / (1 + i + 2 * j); }})"
            return self.add(f"matmul({v.text}, {array})", v.shape, v.bound * 4, v)
        shape = tuple(self.draw.choice([1, n]) for n in v.shape)[self.draw.randint(0, len(v.shape)):]
        extents = ", ".join(map(str, shape))
        array = f"generated<{extents}>([](auto... i) {{ return (0.5 + ... + (0.02 * i)); }})"
        if len(shape) == 1 and self.of.chance(0.5):
            array = f"as_real(arange<{extents}>) * 0.02_c"
        text, bound = self.draw.choice([("{} + {}", v.bound + 3), ("{} * ({})", v.bound * 3), ("maximum({}, {})", 3)])
        return self.add(text.format(v.text, array), v.shape, bound, v)

    def with_leaf(self):
        v = self.any()
        shape = tuple(self.draw.choice([1, n]) for n in v.shape)[self.draw.randint(0, len(v.shape)):]
        text, bound = self.draw.choice([("{} + {}", v.bound + 1.2), ("{1} * {0}", v.bound * 1.2),
                                        ("maximum({}, {})", v.bound + 1.2)])
        return self.add(text.format(v.text, self.leaf(shape, "row")), v.shape, bound, v)

    def linear(self):
        v = self.any()
        out = self.draw.choice(extents)
        if len(v.shape) < 2 or count(v.shape[:-1]) * out > most_elements:
            return None
        key = ("linear", v.shape[-1], out)
        name = self.of.shared.setdefault(key, "/" + self.of.name("l")) if self.of.chance(0.2) else self.of.name("l")
        self.has |= product_policies
        bias, start = self.of.chance(0.7) or name.startswith("/"), ""
        if not name.startswith("/") and self.of.chance(0.2):
            start = f', initial::{self.draw.choice(["orthogonal()", "normal(0.3)", "xavier_normal()"])}'
            start += ", initial::constant(0.1)" * (bias and self.of.chance(0.5))
        layer, once = self.weighted(f'nn::linear{"" if bias else "_without_bias"}<"{name}", {out}{start}>', name, bias,
                                    ["weight_norm", "spectral_norm", "lora<2, 3>"] * (not name.startswith("/")))
        return self.layer(layer, v, v.shape[:-1] + (out,), math.sqrt(v.shape[-1]) * v.bound + 1, once=once)

    def weighted(self, layer, name, bias, forms):
        """Returns a layer with a weight, mostly as it is and sometimes in one of the forms. Returns also whether the
        layer has states, so that a training step may apply it only once."""
        form = self.draw.choice(forms) if forms and self.of.chance(0.2) else ""
        if form == "spectral_norm" and self.of.chance(0.5):
            form = ""  # few models, because differences see what the states are computed from
        weights = {"weight_norm": ["parametrizations.weight.original0", "parametrizations.weight.original1"],
                   "spectral_norm": ["parametrizations.weight.original"],
                   "lora<2, 3>": ["lora_A.default.weight", "lora_B.default.weight"]}.get(form, ["weight"])
        self.names += [f"{name}.{of}" for of in weights + ["bias"] * (bias and not form.startswith("lora"))]
        once = form == "spectral_norm"
        if once:
            self.reusable, self.updates, self.once, self.detaches = False, True, True, True
        return (f"nn::{form}({layer})" if form else layer), once

    def layer(self, layer, v, shape, bound, call=lambda x, layer: f"({x} | {layer})", once=False):
        """Adds the result of a layer, and sometimes further results of the same layer by `shared`. `call` writes how
        the layer is applied to a value with the shape of v. With `once`, there are no further results."""
        made = self.add(call(v.text, layer), shape, bound, v)
        for _ in range(0 if once else self.draw.choice([0, 0, 0, 0, 1, 2])):
            w = self.draw.choice([w for w in self.values if w.shape == v.shape])
            self.of.roles.add("shared")
            self.add(call(w.text, f"shared({layer})"), shape, bound * max(1, w.bound / v.bound)**2, w)
        return made

    def product(self):
        a = self.any()
        if len(a.shape) < 2:
            return None
        turned, names = self.of.chance(0.3), list(self.names)
        m, k = a.shape[-2:][::-1] if turned else a.shape[-2:]
        left = f"transpose({a.text})" if turned else a.text
        if self.of.chance(0.5):
            n = self.draw.choice(extents)
            lead = a.shape[:-2] if self.of.chance(0.3) else ()
            b, shape, bound = None, lead + (k, n), 1.2
            right = self.leaf(shape) if self.of.chance(0.5) else f"transpose({self.leaf(lead + (n, k))})"
        else:
            fits = [(v, t) for v in self.values for t in (False, True)
                    if len(v.shape) > 1 and v.shape[-1 if t else -2] == k]
            if not fits:
                return None
            b, t = self.draw.choice([(v, t) for v, t in fits if v is a and self.of.chance(0.5)] or fits)
            n = b.shape[-2 if t else -1]
            right, bound = f"transpose({b.text})" if t else b.text, b.bound
            shape = b.shape
        lead = broadcast(a.shape[:-2], shape[:-2])
        if lead is None or count(lead) * m * n > most_elements:
            self.names = names
            return None
        batched = len(a.shape) > 2 and len(shape) > 2
        self.has |= product_policies - ({"save_unbatched_matmuls"} if batched else set())
        return self.add(f"matmul({left}, {right})", lead + (m, n), k * a.bound * bound, *filter(None, [a, b]))

    def einsum(self):
        """Adds a product of a value and a parameter by letters. Each letter is kept or summed over."""
        v, draw = self.any(), self.draw
        if not 0 < len(v.shape) < 4:
            return None
        own = "abc"[:len(v.shape)]
        extent = dict(zip(own, v.shape)) | {"z": draw.choice(extents)}
        other = draw.sample(own, draw.randint(0, len(own))) + ["z"]
        draw.shuffle(other)
        result = draw.sample([*own, "z"], draw.randint(1, len(own) + 1))
        shape, elements = tuple(extent[letter] for letter in result), count(extent.values())
        if max(count(shape), elements / 8, count(extent[letter] for letter in other)) > most_elements:
            return None
        parameter = self.leaf(tuple(extent[letter] for letter in other))
        text = f'einsum<"{own},{"".join(other)}->{"".join(result)}">({v.text}, {parameter})'
        return self.add(text, shape, v.bound * 1.2 * elements / count(shape), v)

    def system(self):
        """Adds the solution of a system of equations, or a factor. The matrix is the identity plus a covariance."""
        v = self.any()
        if len(v.shape) < 2 or count(v.shape[:-1]) * v.shape[-2] > most_elements:
            return None
        m, k = v.shape[-2:]
        scale = 1 / (k * v.bound * v.bound)
        matrix = f"matmul({v.text}, transpose({v.text})) * constant<{scale:g}> + one_hot(arange<{m}>)"
        self.has |= product_policies - ({"save_unbatched_matmuls"} if len(v.shape) > 2 else set())
        if self.of.chance(0.5):
            return self.add(f"solve({matrix}, {v.text})", v.shape, math.sqrt(m) * v.bound, v)
        return self.add(f"cholesky({matrix})", v.shape[:-1] + (m,), 1.5, v)

    def image(self):
        """Adds an operation on a value of two or three axes, as an image of rows, columns and channels."""
        v, draw = self.any(), self.draw
        if len(v.shape) not in (2, 3):
            return None
        rows, columns, channels = v.shape if len(v.shape) == 3 else (1, *v.shape)
        kind = draw.choice(["conv2d", "conv2d", "conv1d", "conv_transpose2d", "conv_transpose1d", "max_pool2d",
                            "avg_pool2d", "upsample2d", "interpolate2d", "adaptive_avg_pool2d", "adaptive_max_pool2d"])
        pair = lambda least, most: (draw.randint(least, most), draw.randint(least, most))
        both = lambda lengths: f"{{{lengths[0]}, {lengths[1]}}}"
        extent, stride, padding, dilation = pair(1, 3), pair(1, 2), pair(0, 1), pair(1, 2)
        rows_alone = kind.endswith("1d")
        if rows_alone:
            stride, padding, dilation = ((n[1], n[1]) for n in (stride, padding, dilation))
        elif kind.endswith("pool2d"):
            padding = tuple(min(p, e // 2) for p, e in zip(padding, extent))
            dilation = dilation if kind == "max_pool2d" and padding == (0, 0) else (1, 1)  # each window has pixels
        reach = [d * (e - 1) + 1 for d, e in zip(dilation, extent)]
        same = kind in ("conv2d", "conv1d") and stride == (1, 1) and self.of.chance(0.5)
        window = f".stride = {both(stride)}, .padding = {'nn::same' if same else both(padding)}"
        window += f", .dilation = {both(dilation)}"
        batch = "" if rows_alone else "1, "
        image = lambda x: f"reshape<{batch}{rows}, {columns}, {channels}>({x})"
        x = image(v.text)
        mode = draw.choice([", nn::bilinear", ", nn::bilinear_corners"])
        if kind == "upsample2d":
            mode *= self.of.chance(0.6)
            made, bound, text = (rows * 2, columns * 2, channels), v.bound, f"upsample2d<2{mode}>({x})"
        elif kind in ("interpolate2d", "adaptive_avg_pool2d", "adaptive_max_pool2d"):
            to = (draw.choice(extents[:9]), draw.choice(extents[:9]))
            made, bound = (*to, channels), v.bound
            text = f"{kind}<{to[0]}, {to[1]}{mode * (kind == 'interpolate2d')}>({x})"
        elif kind.endswith("pool2d"):
            ceil = draw.choice([False, True])
            def windows(axis, n):
                found = (n + 2 * padding[axis] - reach[axis] + ceil * (stride[axis] - 1)) // stride[axis] + 1
                return found - (ceil and (found - 1) * stride[axis] >= n + padding[axis])
            made, bound = (windows(0, rows), windows(1, columns), channels), v.bound
            window += f", .ceil_mode = {str(ceil).lower()}"
            if kind == "avg_pool2d":
                window += f", .count_include_pad = {draw.choice(['true', 'false'])}"
            text = f"{kind}<{both(extent)}, nn::window{{{window}}}>({x})"
        else:
            groups = draw.choice([n for n in (1, 2, 3, channels) if channels % n == 0])
            out = groups * draw.randint(1, 3)
            axes = list(zip((rows, columns), stride, padding, reach))
            window += f", .groups = {groups}"
            if kind.startswith("conv_transpose"):
                more = tuple(draw.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation))
                more = (more[1], more[1]) if rows_alone else more
                window += f", .output_padding = {both(more)}"
                made = tuple((n - 1) * s - 2 * p + r + m for (n, s, p, r), m in zip(axes, more)) + (out,)
            else:
                made = tuple(n if same else (n + 2 * p - r) // s + 1 for n, s, p, r in axes) + (out,)
            if rows_alone:
                made = (rows,) + made[1:]
            name, bound = self.of.name("c"), math.sqrt(channels // groups * extent[0] * extent[1]) * v.bound + 1
            layer = f'nn::{kind}<"{name}", {out}, {extent[1] if rows_alone else both(extent)}, nn::window{{{window}}}>'
        if min(made) < 1 or count(made) > most_elements:
            return None
        to = f"reshape{braced(*made).replace(', ', '<', 1)}>"
        if "conv" in kind:
            forms = ["weight_norm"] if "transpose" in kind else ["weight_norm", "spectral_norm"]
            layer, once = self.weighted(layer, name, True, forms)
            return self.layer(layer, v, made, bound, lambda x, layer: f"{to}({image(x)} | {layer})", once)
        return self.add(f"{to}({text})", made, bound, v)

    def attention(self):
        """Adds attention. The last axes of a value are tokens and features, which look at themselves or at
        parameters."""
        v, draw = self.any(), self.draw
        if len(v.shape) not in (2, 3):
            return None
        images, tokens, features = v.shape if len(v.shape) == 3 else (1, *v.shape)
        heads = draw.choice([n for n in (1, 2, 3) if features % n == 0])
        key_heads = draw.choice([n for n in (1, heads) if heads % n == 0])
        causal, dropped = draw.choice(["true", "false"]), 0.2 * self.of.chance(0.2)
        self.reusable &= dropped == 0  # a name may draw only once
        to = f"reshape{braced(*v.shape).replace(', ', '<', 1)}>"
        if self.of.chance(0.5):
            name = self.of.name("a")
            self.names += [f"{name}.{of}" for of in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")]
            self.has |= product_policies
            options = f"nn::attention_options{{.causal = {causal}, .key_heads = {key_heads}, .dropout = {dropped:g}}}"
            x = f"reshape<{images}, {tokens}, {features}>"
            kind, memory, of_keys = "self", "", tokens
            if self.of.chance(0.5):
                kind, of_keys, other = "cross", draw.choice(extents), draw.choice([features, draw.choice(extents)])
                own = self.of.chance(0.3)
                if own:
                    of_keys, other = tokens, features
                memory = f', {f"{x}({v.text})" if own else self.leaf((images, of_keys, other))}'
                if other != features:
                    self.names.remove(name + ".in_proj_weight")
                    self.names += [f"{name}.{of}_proj_weight" for of in "qkv"]
            behind = memory + self.mask(tokens, of_keys)
            layer = f'nn::{kind}_attention<"{name}", {heads}, {options}>'
            return self.layer(layer, v, v.shape, 3 * features * v.bound + 1,
                              lambda of, layer: f"{to}({layer}({x}({of}){behind}))")
        else:
            own = self.of.chance(0.3)  # the queries are also the keys
            keys = [images, tokens, heads] if own else [images, draw.choice(extents), key_heads]
            k = f"reshape<{images}, {tokens}, {heads}, {features // heads}>({v.text})" if own else self.leaf(
                (*keys, features // heads))
            values = k if own or self.of.chance(0.3) else self.leaf((*keys, features // heads))
            self.has |= product_policies - {"save_unbatched_matmuls"}
            form = f'nn::attention<"{self.of.name("d")}", {dropped:g}>' if dropped else "nn::attention"
            text = f"{form}(reshape<{images}, {tokens}, {heads}, {features // heads}>({v.text}), {k}, {values}"
            text += ", nn::causal" * (causal == "true") + self.mask(tokens, keys[1]) + ")"
            return self.add(f"{to}({text})", v.shape, 1.2 / (1 - dropped), *[v] * (3 if own else 1))

    def mask(self, queries, keys):
        """Returns what may follow the arguments of an attention: nothing, numbers, or truth values."""
        seen = f"generated<{queries}, {keys}>([](int i, int j) {{ return j % 3 == i % 3 || j == 0; }}) > 0.5_c"
        # a leaf that is drawn but not used would be no name of the model
        kind = self.draw.choice(["", "numbers", "truths"])
        return f", {self.leaf((queries, keys))}" if kind == "numbers" else f", {seen}" if kind else ""

    def transformer(self):
        """Adds a transformer block on rows that are not constant, as in row_norm."""
        v, draw, name = self.any(), self.draw, self.of.name("b")
        if len(v.shape) not in (2, 3) or v.shape[-1] < 3:
            return None
        images, tokens, features = v.shape if len(v.shape) == 3 else (1, *v.shape)
        heads, inner = draw.choice([n for n in (1, 2, 3) if features % n == 0]), draw.choice(extents[:8])
        layers = "self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.", "norm1.", "norm2."
        self.names += [f"{name}.{layer}{of}" for layer in layers for of in ("weight", "bias")]
        self.has |= product_policies
        first, causal = draw.choices(["true", "false"], k=2)
        options = f"nn::transformer_options{{.dim_feedforward = {inner}, .norm_first = {first}, .causal = {causal}}}"
        x, to = f"reshape<{images}, {tokens}, {features}>", f"reshape{braced(*v.shape).replace(', ', '<', 1)}>"
        layer = f'block<"{name}">(nn::transformer_block<{heads}, {options}, nn::{draw.choice(["gelu", "silu"])}>)'
        return self.layer(layer, v, v.shape, 3 * features + v.bound,
                          lambda of, layer: f"{to}({x}({of} + {apart(features)}) | {layer})")

    def recurrent(self):
        """Adds a recurrent layer. The last axes of a value are iterations and features. A cell takes the features of
        one iteration."""
        v, draw, name = self.any(), self.draw, self.of.name("u")
        kind, hidden, layers = draw.choice(["rnn", "gru", "lstm"]), draw.choice(extents[:8]), draw.choice([1, 2])
        cell = self.of.chance(0.4)
        both = not cell and self.of.chance(0.3)
        if len(v.shape) not in ((2,) if cell else (2, 3)) or v.shape[-2] < 3:
            return None
        if count(v.shape[:-1]) * hidden * (1 + both) > most_elements:
            return None
        shape = v.shape if cell or len(v.shape) == 3 else (1, *v.shape)
        suffixes = [""] if cell else [f"_l{i}{way}" for i in range(layers) for way in ["", "_reverse"][:1 + both]]
        self.names += [f"{name}.{of}{suffix}" for of in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                       for suffix in suffixes]
        self.has |= product_policies
        if cell:
            layer, of_state = f'nn::{kind}_cell<"{name}", {hidden}>', (shape[0], hidden)
        else:
            dropped, of_state = 0.2 * (layers == 2 and self.of.chance(0.3)), (layers * (1 + both), shape[0], hidden)
            options = f".num_layers = {layers}, .dropout = {dropped:g}" + ", .bidirectional = true" * both
            options = f"nn::recurrent_options{{{options}{', .start = initial::orthogonal()' * self.of.chance(0.2)}}}"
            layer = f'nn::{kind}<"{name}", {hidden}, {options}, {draw.choice(loop_policies)}>'
            self.reusable &= dropped == 0  # a name may draw only once
            self.of.slopes, self.of.loops = most_slopes, True
        states, made = 1 + (kind == "lstm"), shape[:-1] + (hidden * (1 + both),)
        x = f"reshape{braced(*shape).replace(', ', '<', 1)}>({v.text})"
        fits, begin = [w for w in self.values if w.shape == of_state], []
        if self.of.chance(0.5):
            again = fits and self.of.chance(0.5)
            begin = [self.draw.choice(fits).text] * states if again else [self.leaf(of_state) for _ in range(states)]
        text = f"{layer}({', '.join([x, *begin])})"
        results = states if cell else 1 + states * bool(begin)
        if results == 1:
            return self.add(text, made, 1.2, v)
        parts = [self.of.name("v") for _ in range(results)]
        self.lines.append(f"const auto [{', '.join(parts)}] = {text};")
        shapes = [of_state if cell or i > 0 else made for i in range(results)]
        return [self.add(f"tanh({part})", of_part, 1, v) for part, of_part in zip(parts, shapes)][0]

    def swiglu(self):
        v, name, hidden = self.any(), self.of.name("g"), self.draw.choice(extents)
        if len(v.shape) < 2 or count(v.shape[:-1]) * hidden > most_elements:
            return None
        self.names += [f"{name}.w{i}.weight" for i in (1, 2, 3)]
        self.has |= product_policies
        return self.layer(f'nn::swiglu<"{name}", {hidden}>', v, v.shape, hidden * v.bound**2 + 1)

    def tiled(self):
        """Adds the result of layers that run on groups of rows, one group after another."""
        v, draw = self.any(), self.draw
        if len(v.shape) < 2:
            return None
        shape, bound, layers, names = v.shape, v.bound, [], []
        for kind in draw.choices(["linear", "tanh", "gelu", "norm", "dropout"], [4, 2, 2, 2, 1], k=draw.randint(1, 4)):
            name = self.of.name("l")
            if kind == "linear":
                out = draw.choice(extents)
                if count(shape[:-1]) * out > most_elements:
                    return None
                layers.append(f'nn::linear<"{name}", {out}>')
                names += [name + ".weight", name + ".bias"]
                bound, shape = math.sqrt(shape[-1]) * bound + 1, shape[:-1] + (out,)
            elif kind == "norm":
                layers.append(f'nn::rms_norm<"{name}", 1.0>')
                names.append(name + ".weight")
                bound = min(bound, math.sqrt(shape[-1]))
            elif kind == "dropout":
                layers.append(f'nn::dropout<"{name}", 0.25>')
                bound, self.reusable = bound / 0.75, False  # a name may draw only once
            else:
                layers.append(f"nn::{kind}")
        self.names += names
        self.of.slopes, self.of.loops = most_slopes, True  # a body that is planned once, without a second gradient
        groups = draw.choice([n for n in range(1, v.shape[0] + 1) if v.shape[0] % n == 0])
        if groups in (2, 4, 8) and self.of.chance(0.5):
            self.of.chooses, groups = True, f"up_to<{groups}>"
        return self.add(f"({v.text} | nn::tiled<{groups}>({' | '.join(layers)}))", shape, bound, v)

    def tied(self):
        """Adds a product with the weight of a linear layer. Other products may share the weight."""
        v, out = self.any(), self.draw.choice(extents)
        if len(v.shape) < 2 or count(v.shape[:-1]) * out > most_elements:
            return None
        name = self.of.shared.setdefault(("linear", v.shape[-1], out), "/" + self.of.name("l"))
        self.names.append(name + ".weight")
        self.has |= product_policies
        text = f'({v.text} | nn::tied_linear<"{name}.weight", {out}>)'
        return self.add(text, v.shape[:-1] + (out,), math.sqrt(v.shape[-1]) * v.bound + 1, v)

    def positions(self):
        v = self.any()
        return len(v.shape) > 1 and self.add(f"({v.text} | nn::sinusoidal_positions)", v.shape, v.bound + 1, v)

    def placed(self, v=None):
        """Replaces rows of a value. The new rows are a value of the same kind or a parameter. Their position is an
        index of the model or a constant."""
        v = v or self.any()
        if not v.shape:
            return None
        axis = self.draw.randrange(len(v.shape))
        before, n, behind = v.shape[:axis], v.shape[axis], v.shape[axis + 1:]
        fits = [w for w in (self.places if v.below else self.values) if len(w.shape) == len(v.shape) and
                w.shape[axis] <= n and (w.shape[:axis], w.shape[axis + 1:]) == (before, behind)]
        rows = self.draw.choice(fits)
        if not v.below and self.of.chance(0.5):
            shape = (*before, self.draw.randint(1, n), *behind)
            rows = value(self.leaf(shape), shape, 1.2, own=False)
        places = n - rows.shape[axis] + 1
        indices = [w for w in self.places if count(w.shape) == 1 and w.below <= places]
        reads, begin = [v, *[rows] * (rows in fits)], self.draw.randrange(places)
        at = f"slice<0, {begin}, {begin + 1}>(arange<{places}>)"
        if indices and self.of.chance(0.7):
            reads.append(self.draw.choice(indices))
            at = reads[-1].text
        text = f"placed<{axis}>({v.text}, {at}, {rows.text})"
        if v.below:
            return self.add_places(text, v.shape, max(v.below, rows.below), *reads)
        return self.add(text, v.shape, max(v.bound, rows.bound), *reads)

    def along_axis(self):
        v = self.any()
        if not v.shape:
            return None
        axis = self.draw.randrange(-len(v.shape), len(v.shape))
        if self.of.chance(0.7):
            return self.add(f"softmax<{axis}>({v.text})", v.shape, 1, v)
        return self.add(f"log_softmax<{axis}>({v.text})", v.shape, 2 * v.bound + math.log(v.shape[axis]), v)

    def reduction(self):
        v = self.any()
        axes = sorted(self.draw.sample(range(len(v.shape)), self.draw.randint(0, len(v.shape))))
        keep = self.of.chance(0.6)
        over = axes or range(len(v.shape))
        shape = tuple(1 if i in over else n for i, n in enumerate(v.shape) if keep or i not in over)
        elements = count([v.shape[i] for i in over])
        kind, bound = self.draw.choice([
            ("mean", v.bound), ("sum", v.bound * elements), ("max", v.bound), ("min", v.bound),
            ("logsumexp", v.bound + math.log(elements)), ("vector_norm", math.sqrt(elements) * (v.bound + 3)),
            ("stddev" if elements > 1 else "mean", 2 * v.bound + 3)])
        x = f"{v.text} + {apart(*v.shape)}" if kind in ("vector_norm", "stddev") else v.text
        listed = f"<{', '.join(str(i - len(v.shape) * self.of.chance(0.5)) for i in axes)}>" if axes else ""
        return self.add(f"{kind}{listed}({x}{', keepdim' if keep else ''})", shape, bound, v)

    # Operations that move real numbers and also indices.

    def moved(self, text, shape, v, what="view"):
        made = self.add_places(text, shape, v.below, v) if v.below else self.add(text, shape, v.bound, v)
        if made:
            made.root, made.what = v.root, what
        return made

    def view(self, v=None):
        v = v or self.any()
        if len(v.shape) > 1 and self.of.chance(0.5):
            order = list(range(len(v.shape)))
            self.draw.shuffle(order)
            if order == sorted(order):  # is refused, because it changes nothing
                order.reverse()
            return self.moved(f"transpose<{', '.join(map(str, order))}>({v.text})", tuple(v.shape[i] for i in order), v)
        rest, shape = count(v.shape), []
        while len(shape) < 3 and self.of.chance(0.7):
            shape.append(self.draw.choice([n for n in range(1, rest + 1) if rest % n == 0]))
            rest //= shape[-1]
        shape.append(rest)
        return self.moved(f"reshape<{', '.join(map(str, shape))}>({v.text})", tuple(shape), v)

    def stretched(self, v=None):
        """Adds or removes axes of extent 1, or repeats a value along its axes."""
        v, draw = v or self.any(), self.draw
        rank, kind = len(v.shape), draw.choice(["unsqueeze", "squeeze", "expand", "tile"])
        if rank > 3:
            return None
        if kind == "unsqueeze":
            numbers = [draw.randint(-rank - 1, rank)]
            at = numbers[0] % (rank + 1)
            shape = v.shape[:at] + (1,) + v.shape[at:]
        elif kind == "squeeze":
            ones = [axis for axis, n in enumerate(v.shape) if n == 1]
            numbers = draw.sample(ones, draw.randint(min(1, len(ones)), len(ones)))
            shape = tuple(n for axis, n in enumerate(v.shape) if axis not in numbers)
        elif kind == "expand":
            ahead = draw.choices(extents[:4], k=draw.choice([0, 1]))
            to = [n if n > 1 else draw.choice(extents[:4]) for n in v.shape]
            shape = (*ahead, *to)
            numbers = ahead + [-1 if n == m and self.of.chance(0.5) else m for n, m in zip(v.shape, to)]
        else:
            numbers = draw.choices([1, 1, 2, 3], k=rank + draw.choice([0, 1]))
            shape = tuple(map(math.prod, zip(numbers, (1,) * (len(numbers) - rank) + v.shape)))
        if not numbers or count(shape) > most_elements:
            return None
        return self.moved(f"{kind}<{', '.join(map(str, numbers))}>({v.text})", shape, v)

    def slice(self, v=None):
        v = v or self.any()
        if not v.shape:
            return None
        axis = self.draw.randrange(len(v.shape))
        n = v.shape[axis]
        begin = self.draw.randrange(n)
        end = self.draw.randint(begin + 1, n)
        bounds = f"{begin}, {end}" if end < n else f"{begin}"
        shape = v.shape[:axis] + (end - begin,) + v.shape[axis + 1:]
        return self.moved(f"slice<{axis}, {bounds}>({v.text})", shape, v, "slice")

    def roll(self, v=None):
        v = v or self.any()
        if not v.shape:
            return None
        axis, by = self.draw.randrange(-len(v.shape), len(v.shape)), self.draw.randint(-20, 20)
        kind = self.draw.choice([f"roll<{axis}, {by}>", f"nn::shift<{axis}, {by}>",
                                 f"nn::shift<{axis}, {by}, nn::edge::nearest>"])
        return self.moved(f"{kind}({v.text})", v.shape, v)

    def concatenate(self, v=None):
        v = v or self.any()
        if not v.shape:
            return None
        axis = self.draw.randrange(len(v.shape))
        without = lambda shape: shape[:axis] + shape[axis + 1:]
        fits = [w for w in (self.places if v.below else self.values)
                if len(w.shape) == len(v.shape) and without(w.shape) == without(v.shape)]
        parts = [v] + self.draw.choices([v] if self.of.chance(0.2) else fits, k=self.draw.choice([1, 1, 2, 4]))
        shape = v.shape[:axis] + (sum(w.shape[axis] for w in parts),) + v.shape[axis + 1:]
        if count(shape) > most_elements:
            return None
        text = f"concatenate<{axis}>({', '.join(w.text for w in parts)})"
        if v.below:
            return self.add_places(text, shape, max(w.below for w in parts), *parts)
        return self.add(text, shape, max(w.bound for w in parts), *parts)

    def move_places(self):
        v = self.any_places()
        return v and self.draw.choice([self.view, self.slice, self.stretched, self.concatenate, self.placed])(v)

    def choose(self):
        """Adds the positions of the largest or the smallest numbers."""
        v = self.any()
        if not v.shape:
            return None
        axis, keep = self.draw.randrange(len(v.shape)), self.of.chance(0.3)
        if self.of.chance(0.2):
            k = self.draw.randint(1, v.shape[axis])
            shape = v.shape[:axis] + (k,) + v.shape[axis + 1:]
            return self.add_places(f"argtopk<{k}, {axis}>({v.text}{', smallest' * keep})", shape, v.shape[axis], v)
        if self.of.chance(0.1):
            n = self.draw.randint(1, min(200, most_elements // count(v.shape)))  # whole numbers in bf16
            return self.add_places(f"as_indices<{n}>(floor({n - 0.5}_c * sigmoid({v.text})))", v.shape, n, v)
        shape = v.shape[:axis] + (1,) * keep + v.shape[axis + 1:]
        listed = axis - len(v.shape) * self.of.chance(0.5)
        text = f"{self.draw.choice(['argmax', 'argmin'])}<{listed}>({v.text}{', keepdim' if keep else ''})"
        return self.add_places(text, shape, v.shape[axis], v)

    def ordered(self):
        """Adds sorted numbers, running sums, or numbers that are read or added at their positions in another order."""
        v = self.any()
        if not v.shape:
            return None
        axis = self.draw.randrange(len(v.shape))
        n, k = v.shape[axis], self.draw.randint(1, v.shape[axis])
        text, extent, bound = self.draw.choice([
            ("sort<{0}>({1})", n, 1), ("sort<{0}>({1}, descending)", n, 1), ("cumsum<{0}>({1})", n, n),
            ("gather_along<{0}>({1}, argsort<{0}>({1}))", n, 1), ("topk<{2}, {0}>({1})", k, 1),
            ("topk<{2}, {0}>({1}, smallest)", k, 1),
            ("scatter_add_along<{0}>({1}, argtopk<{2}, {0}>({1}), topk<{2}, {0}>({1}, smallest))", n, 2)])
        shape = v.shape[:axis] + (extent,) + v.shape[axis + 1:]
        text = text.format(axis - len(v.shape) * self.of.chance(0.5), v.text, k)
        return self.add(text, shape, v.bound * bound, v)

    def compared(self):
        """Adds a similarity of rows, or a loss that compares rows."""
        a, draw = self.any(), self.draw
        if not a.shape:
            return None
        b, c = draw.choices([w for w in self.values if w.shape == a.shape], k=2)
        rows, n = a.shape[:-1], a.shape[-1]
        away, listed = apart(*a.shape), ", ".join(map(str, rows))
        sides = f"generated<{listed}>([](auto... i) {{ return (0 + ... + i) % 2 == 0 ? 1.0 : -1.0; }})"
        at = self.any_places()
        if at and count(at.shape) * at.below <= most_elements and len(at.shape) < 5 and self.of.chance(0.4):
            logits = f"{self.leaf(at.shape + (at.below,))} * mean({a.text})"
            return self.add(f"nll_loss(log_softmax({logits}), {at.text})", (), 3 * a.bound + math.log(at.below), a, at)
        text, shape, bound = draw.choice([
            (f"kl_div(log_softmax({a.text}), softmax({b.text}))", (), 2 * a.bound + math.log(n)),
            (f"soft_cross_entropy({a.text}, softmax({b.text}))", (), 2 * a.bound + math.log(n)),
            (f"cosine_similarity({a.text} + {away}, {b.text} + {away})", rows, 1),
            (f"cosine_embedding_loss<0.2>({a.text} + {away}, {b.text} + {away}, {sides})", (), 2),
            (f"triplet_loss({a.text}, {b.text}, {c.text})", (), 4 * math.sqrt(n) * most_bound)])
        return self.add(text, shape, bound, a, b, *[c] * text.startswith("triplet"))

    def gather(self, at=None):
        """Adds a gather along an axis of a value that is long enough, or of a parameter."""
        at = at or self.any_places()
        if at is None:
            return None
        fits = [(v, axis) for v in self.values for axis, n in enumerate(v.shape) if n >= at.below]
        if fits and self.of.chance(0.6):
            table, axis = self.draw.choice(fits)
        else:
            shape = (self.draw.choice([n for n in [at.below, *extents] if n >= at.below]),)
            shape += self.draw.choice([(), (), (self.draw.choice(extents),)])
            table, axis = value("", shape, 1.2, own=False), 0
        shape = table.shape[:axis] + at.shape + table.shape[axis + 1:]
        if count(shape) > most_elements or len(shape) > 5:
            return None
        listed = axis - len(table.shape) * self.of.chance(0.3)
        text = f"gather<{listed}>({table.text or self.leaf(table.shape)}, {at.text})"
        return self.add(text, shape, table.bound, *[table] * bool(table.text), at)

    def ones(self, at=None):
        at = at or self.any_places()
        if at is None or count(at.shape) * at.below > most_elements or len(at.shape) > 4:
            return None
        return self.add(f"one_hot({at.text})", at.shape + (at.below,), 1, at)

    def dropout(self):
        v = self.any()
        self.reusable = False  # a name may draw only once
        layer = self.draw.choice(["dropout", "dropout2d", "drop_path"] if len(v.shape) > 1 else ["dropout"])
        return self.add(f'({v.text} | nn::{layer}<"{self.of.name("d")}", 0.25>)', v.shape, v.bound / 0.75, v)

    def noise(self):
        """Adds an operation with an array of random numbers. A predictor does not compute the operation."""
        v = self.any()
        self.reusable = False  # a name may draw only once
        shape = tuple(self.draw.choice([1, n]) for n in v.shape)[self.draw.randint(0, len(v.shape)):]
        text, bound = self.draw.choice([
            ('{} + 0.1_c * random_normal<"{}"{}>', v.bound + 1), ('{} * random_uniform<"{}"{}>', v.bound),
            ('{} * random_bernoulli<"{}", 0.25{}>', v.bound)])
        drawn = text.format(v.text, self.of.name("e"), braced(*shape))
        return self.add(f"in_training({drawn}, {v.text})", v.shape, bound, v)

    def batch_norm(self):
        v, name = self.any(), self.of.name("n")
        if len(v.shape) < 2 or count(v.shape[:-1]) == 1:  # a program refuses a batch norm over one row
            return None
        self.reusable, self.once = False, True  # a training step updates its statistics once
        self.names += [name + ".weight", name + ".bias"]
        bound = 1 + math.sqrt(count(v.shape[:-1]))
        return self.add(f'({v.text} | nn::batch_norm<"{name}">)', v.shape, bound, v)

    def norm(self):
        """Adds a norm of rows, of groups of channels or of channels, or a rectifier with a slope for each channel."""
        v, name = self.any(), self.of.name("n")
        if len(v.shape) < 2:
            return None
        channels, pixels = v.shape[-1], count(v.shape[1:-1])
        groups = self.draw.choice([n for n in (1, 2, 3) if channels % n == 0])
        kind, elements = self.draw.choice([
            ("layer_norm", channels), ("layer_norm", channels), ("rms_norm", channels), ("instance_norm", pixels),
            ("group_norm", channels * pixels // groups), ("prelu", 3)])
        if elements < 3:
            return None
        if kind == "prelu":
            self.names.append(name + ".weight")
            return self.layer(f'nn::prelu<"{name}", {self.draw.choice([1, channels])}>', v, v.shape, v.bound + 1)
        affine = self.of.chance(0.7)
        self.names += [f"{name}.{of}" for of in ["weight", "bias"][:1 if kind == "rms_norm" else 2]] if affine else []
        options = "norm" if kind in ("layer_norm", "group_norm") else kind
        options = f", nn::{options}_options{{.affine = {str(affine).lower()}}}"
        if affine and kind != "instance_norm" and self.of.chance(0.5):
            options = ""
        layer = f'nn::{kind}<"{name}"{f", {groups}" if kind == "group_norm" else ""}{options}>'
        return self.layer(layer, v, v.shape, 1 + math.sqrt(elements),
                          lambda x, layer: f"(({x} + {apart(*v.shape)}) | {layer})")

    def embedding(self):
        """Adds an embedding, possibly with a row for padding."""
        at, name, features = self.any_places(), self.of.name("e"), self.draw.choice(extents)
        if at is None or count(at.shape) * features > most_elements or len(at.shape) > 4:
            return None
        row = self.draw.randint(-at.below, at.below - 1)
        padding = self.draw.choice(["", "", f", nn::embedding_options{{.padding_idx = {row}}}"])
        self.detaches |= bool(padding)  # differences see more than the gradient, as with detach
        self.names.append(name + ".weight")
        return self.add(f'({at.text} | nn::embedding<"{name}", {features}{padding}>)', at.shape + (features,), 4, at)

    def rotary(self):
        v = self.any()
        if len(v.shape) < 3 or v.shape[-1] % 2:
            return None
        fits = [w for w in self.places if w.shape in (v.shape[:-2], v.shape[-3:-2])]
        positions = f", {self.draw.choice(fits).text}" if fits and self.of.chance(0.7) else ""
        return self.add(f"nn::rotary<100>({v.text}{positions})", v.shape, 1.5 * v.bound, v)

    def state(self):
        """Adds a value plus a moving average over the training steps so far. Each training step updates the average."""
        v, name = self.any(), self.of.name("m")
        self.reusable, self.updates, self.once = False, True, True  # a training step updates it once
        past = f'state<"{name}", initial{{}}{braced(*v.shape)}>'
        if self.of.chance(0.5):  # other values may read the state, too
            other = value(self.of.name("v"), v.shape, v.bound * 1.1, own=False, what="state")
            self.values.append(other)
            self.unread.append(other)
            self.lines.append(f"const auto {other.text} = {past};")
            if self.of.chance(0.5):
                self.combine(other, other)
        return self.add(f"updated({v.text} + 0.1_c * {past}, {past}, 0.9_c * {past} + 0.1_c * {v.text})", v.shape,
                        v.bound * 1.1, v)

    def tag(self, v=None):
        v, name = v or (self.any_places() if self.places and self.of.chance(0.2) else self.any()), self.of.name("t")
        self.has.add(name)
        return self.moved(f'tag<"{name}">({v.text})', v.shape, v, "tagged")

    def slope(self):
        """Adds a gradient as a value. The differentiated value stays unread, because its parameters might not reach the
        gradient."""
        pairs = [(w, v) for w in self.values for v in self.values if v is not w and v.text in w.of]
        if self.of.slopes == most_slopes or not pairs:
            return None
        (w, v), unread = self.draw.choice(pairs), list(self.unread)
        self.of.slopes += 1
        made = self.add(f"tanh(grad(mean(square({w.text})), {v.text}))", v.shape, 1, w, v)
        self.unread = [*unread, made]
        return made

    def detach(self):
        if self.segment:
            return None
        v = self.any()
        still = v in self.unread
        self.detaches = True
        made = self.add(f"detach({v.text})", v.shape, v.bound, v)
        if still:
            self.unread.append(v)
        return made

    # Calls of functions.

    def call(self, sharing=0.4):
        """Calls a function as a block, as a segment, as both, or repeatedly. It may be a segment with only parameters.
        `sharing` is the probability that a function of this body is applied again, with the same parameters."""
        segment = self.of.chance(0.75)
        if segment and self.depth >= most_depth:
            return None
        inner = segment or self.segment
        can = lambda f: f.arguments and not (f.detaches and inner) and all(
            any(v.kind == kind for v in self.values + self.places) for kind in f.arguments)
        old, applied = [f for f in self.of.functions if f.reusable and can(f)], list(filter(can, self.applied))
        shared = applied and self.of.chance(sharing)
        again = shared or old and self.of.chance(0.3)
        if again:
            f = self.draw.choice(applied if shared else old)
            arguments = [self.draw.choice([v for v in self.values + self.places if v.kind == kind])
                         for kind in f.arguments]
        else:
            alone = segment and self.of.chance(0.12)
            arguments = [] if alone else [self.any() for _ in range(self.draw.choice([1, 1, 1, 2, 2, 3]))]
            if self.of.chance(0.3):
                arguments[1:] = [self.role(arguments[0]) for _ in arguments[1:]]
            repeated = 0 < len(arguments) < 3 and self.of.chance(0.25)
            if repeated and self.of.chance(0.4):
                return self.loop_in_roles(arguments, segment, inner)
            if arguments and not repeated and self.places and self.of.chance(0.4):
                arguments.insert(self.draw.randint(0, len(arguments)), self.any_places())
            inside = body(self.of, [value(f"a{i}", v.shape, most_bound, below=v.below)
                                    for i, v in enumerate(arguments)], self.depth + segment, inner)
            f = inside.function(self.draw.randint(1, 7), len(arguments) * repeated)
            if repeated:
                return self.repeat(f, arguments, segment)
        # Without a name of its own, a body would use the layers of its first use.
        if shared:
            prefix = f.path
            self.has |= f.has
            self.reusable &= f.reusable
            self.detaches |= f.detaches
            self.of.roles.add("shared")
        else:
            prefix = self.of.name("b") if arguments and (not segment or again or self.of.chance(0.4)) else None
            self.use(f, [prefix] if prefix else [])
        layer = f'block<"{prefix}">({f.text})' if prefix else f.text
        layer = f"shared({layer})" if shared else layer
        listed = ", ".join(v.text for v in arguments)
        if segment and len(arguments) == len(f.results) == 1 and self.of.chance(0.5):
            before = self.draw.choice(["", "nn::tanh | ", "nn::gelu | "])
            text = f"({listed} | {self.segment_of(f, f'{before}layer({layer})')})"
        elif segment:
            text = self.segment_of(f, layer, listed)
        else:
            text = f"{layer}({listed})"
        self.read(*arguments)
        if len(f.results) == 1:
            return self.add(text, *f.results[0][:2], *arguments)
        return self.taken_apart(f, text, arguments)

    def taken_apart(self, f, text, arguments):
        """Adds the results of f, which are computed by `text`."""
        own = any(v.own for v in arguments)
        names = [value(self.of.name("v"), shape, bound, own, (), below) for shape, bound, below in f.results]
        self.lines.append(f"const auto [{', '.join(v.text for v in names)}] = {text};")
        names[f.main].of.update(*(v.of for v in arguments))
        self.values += [v for v in names if not v.below]
        self.places += [v for v in names if v.below]
        self.unread.append(names[f.main])
        return names[f.main]

    def chain(self):
        """Adds a chain of layers, which ckpt_sequential cuts."""
        v, layers = self.any(), []
        if len(v.shape) < 2 or self.depth >= most_depth:
            return None
        shape = v.shape
        for _ in range(self.draw.randint(2, 4)):
            layers.append(self.draw.choice(["nn::tanh", "nn::gelu", "nn::softmax", "nn::linear"]))
            if layers[-1] == "nn::linear":
                fits = [n for n in extents if n * count(shape[:-1]) <= most_elements]
                name, out = self.of.name("l"), self.draw.choice(fits)
                layers[-1], shape = f'nn::linear<"{name}", {out}>', shape[:-1] + (out,)
                self.names += [name + ".weight", name + ".bias"]
        cut = self.draw.choice(["", ", by_bytes", ", by_flops"])
        text = f"ckpt_sequential<{self.draw.randint(1, len(layers))}{cut}, allow_useless>"
        return self.add(f"tanh({v.text} | {text}(std::make_tuple({', '.join(layers)})))", shape, 1, v)

    def roles_in_loop(self, carried):
        """Returns the number of iterations of a loop, the values of which each iteration reads a part, the values that
        are the same in all iterations, and the name of a parameter among the latter that the body also reads directly.
        Most of the values are carried as well."""
        drawn = lambda: self.role(self.draw.choice(carried)) if self.of.chance(0.5) else self.any()
        first = drawn()
        times = first.shape[0] if first.shape and 1 < first.shape[0] < 6 else self.draw.randint(2, 5)
        each = [v for v in [first] * self.draw.choice([1, 2]) if v.shape and v.shape[0] == times]
        same = [drawn() for _ in range(self.draw.choice([0, 1, 1, 2]))]
        name = None
        if self.of.chance(0.3):
            shape = carried[0].shape
            name = self.of.shared.setdefault(("row", shape), "/" + self.of.name("w"))
            same.append(value(f'param<"{name}"{braced(*shape)}>', shape, 1.2, own=False))
            self.names.append(name)
            self.of.roles.add("parameter")
        return times, each, same, name

    def loop_in_roles(self, carried, segment, inner):
        times, each, same, name = self.roles_in_loop(carried)
        kinds = [v.shape for v in carried] + [v.shape[1:] for v in each] + [v.shape for v in same]
        values = [value(f"a{i}", shape, most_bound) for i, shape in enumerate(kinds)]
        inside = body(self.of, values, self.depth + segment, inner)
        if name:
            a = inside.arguments[0]
            inside.add(f'{a.text} * param<"{name}"{braced(*a.shape)}>', a.shape, a.bound * 1.2, a)
            inside.names.append(name)
        f = inside.function(self.draw.randint(1, 7), len(carried))
        return self.loop(f, carried, segment, times, each, same)

    def loop(self, f, arguments, segment, times=None, each=(), same=()):
        """Calls a body that is planned once. Policies outside do not see its values, and it has no second gradient."""
        name, times, has = self.of.name("r"), times or self.draw.randint(2, 5), set(self.has)
        self.use(f, [name])
        # differences see what a state passes on from one iteration to the next, and gradients do not
        self.detaches |= f.updates
        self.has, self.of.slopes, self.of.loops = has, most_slopes, True
        body_of_step = self.segment_of(f, f"layer({f.text})") if segment else f"layer({f.text})"
        policy = self.draw.choice(loop_policies)
        listed = [f'carried({", ".join(v.text for v in arguments)})']
        listed += [f'each({", ".join(v.text for v in each)})'] * bool(each) + [v.text for v in same]
        text = f'scan<{times}, "{name}", {policy}>({body_of_step}, {", ".join(listed)})'
        self.read(*arguments, *each, *same)
        if len({v.root for v in [*arguments, *each, *same]}) < len([*arguments, *each, *same]):
            self.of.roles.add("loop")
        if len(arguments) > 1:
            return self.taken_apart(f, text, [*arguments, *each, *same])
        return self.add(text, *f.results[0][:2], *arguments, *each, *same)

    def repeat(self, f, arguments, segment):
        if self.of.chance(0.4):
            return self.loop(f, arguments, segment)
        name, times = self.of.name("r"), self.draw.randint(2, 3)
        self.use(f, [f"{name}.{i}" for i in range(times)])
        layer = f"layer({f.text})"
        if len(arguments) == 1 and self.of.chance(0.4):
            layer = f"nn::residual({layer} | nn::tanh)"
        inside = self.segment_of(f, layer) if segment else layer
        text = f'repeat<{times}, "{name}">([](auto) {{ return {inside}; }}'
        if len(arguments) > 1:
            self.read(*arguments)
            return self.taken_apart(f, f"{text}, {', '.join(v.text for v in arguments)})", arguments)
        v, = arguments
        return self.add(f"({v.text} | {text}))", v.shape, most_bound + times, v)

    def segment_of(self, f, *arguments):
        products = sorted(f.has & product_policies)
        tags, policies = sorted(f.has - product_policies), ["allow_useless"]
        self.draw.shuffle(tags)
        if self.of.chance(0.6):
            cut = self.draw.randint(0, len(tags))
            saving = [f"{policy}<{', '.join(map(quoted, some))}>"
                      for policy, some in [("save", tags[:cut]), ("save_all_but", tags[cut:])] if some]
            saving += products and [self.draw.choice(products)]
            policies += self.draw.sample(saving, self.draw.randint(0, len(saving)))
            if len(policies) == 1:
                policies += self.draw.choice([["save_nothing"], ["save_everything"] * bool(products), []])
        if self.of.chance(0.2):
            policies.insert(0, "boundaries<bf16>")
        return f'ckpt<{quoted(self.of.name("s"))}, {", ".join(policies)}>({", ".join(filter(None, arguments))})'

    def use(self, f, prefixes):
        self.has |= f.has
        self.reusable &= f.reusable
        self.detaches |= f.detaches
        self.updates |= f.updates
        self.once |= f.once
        self.names += [n if n.startswith("/") else ".".join(filter(None, [p, n]))
                       for p in prefixes or [""] for n in f.names]
        self.applied += [g.under(p) for p in prefixes or [""] for g in [f, *f.applied] if g.arguments and not g.once]

    # Whole bodies.

    def grow(self, operations):
        kinds = [(self.unary, 6), (self.binary, 5), (self.with_leaf, 2), (self.with_generated, 1.5), (self.linear, 4),
                 (self.product, 3), (self.einsum, 1), (self.system, 0.7), (self.along_axis, 2), (self.reduction, 2),
                 (self.view, 2), (self.stretched, 1.5), (self.slice, 1), (self.roll, 1.5), (self.concatenate, 1.5),
                 (self.image, 4), (self.attention, 2), (self.dropout, 1), (self.noise, 1), (self.batch_norm, 1),
                 (self.norm, 2.5), (self.rotary, 2), (self.embedding, 1.5), (self.state, 1), (self.tag, 2),
                 (self.detach, 0.5), (self.slope, 0.5), (self.fresh, 0.5), (self.call, 9), (self.chain, 1),
                 (self.choose, 1.5), (self.ordered, 1.5), (self.compared, 1.5), (self.move_places, 1.5),
                 (self.gather, 3), (self.ones, 0.5), (self.recurrent, 2), (self.transformer, 0.7), (self.swiglu, 0.7),
                 (self.tied, 0.7), (self.tiled, 1), (self.positions, 0.5), (self.placed, 1)]
        draws, weights = zip(*kinds)
        while operations > 0 and self.of.left > 0:
            before = self.of.left
            if self.draw.choices(draws, weights)[0]():
                self.of.left -= 1
            operations -= max(before - self.of.left, 0.1)

    def joined(self):
        """Joins all unread values into one value that depends on all of them."""
        for at in list(self.unread_places):
            laid = self.gather(at) if self.of.chance(0.5) else self.ones(at)
            laid or self.add(f"mean(as_real({at.text}))", (), at.below, at)
        while len(self.unread) > 1:
            a, b = self.draw.sample(self.unread, 2)
            self.combine(a, b) or self.add(f"{a.text} * mean({b.text})", a.shape, a.bound * b.bound, a, b)
        return self.unread[0] if self.unread else self.unary()

    def in_place_of(self, a, main):
        """Returns what a repeated body passes on for argument a."""
        alike = [v for v in self.values if v.kind == a.kind and v.own]
        return self.draw.choice(alike) if self.of.chance(0.5) else self.add(f"{a.text} * tanh(mean({main.text}))",
                                                                            a.shape, a.bound, a, main)

    def function(self, operations, carried):
        """Finishes a function. `carried` is the number of arguments that it returns in the same shapes, so that it can
        be called again with them."""
        self.grow(operations)
        main = self.joined()
        if main in self.arguments:
            main = self.unary()
            main = self.joined()
        if carried and main.shape != self.arguments[0].shape:
            a = self.arguments[0]
            fits = broadcast(a.shape, main.shape) == a.shape
            main = self.add(f"tanh({a.text} + {main.text if fits else f'mean({main.text})'})", a.shape, 1, a, main)
        others = [v for v in self.values + self.places if v is not main and (v.own or not self.arguments)]
        if carried:
            results = [main] + [self.in_place_of(a, main) for a in self.arguments[1:carried]]
        else:
            few = 0 if self.of.chance(0.6) else self.draw.choice([1, 1, 2])
            results = [main] + self.draw.sample(others, min(len(others), few))
            self.draw.shuffle(results)
        listed = ", ".join(v.text for v in results)
        self.lines.append(f"return {listed};" if len(results) == 1 else f"return std::tuple{{{listed}}};")
        name = self.of.name("f")
        parameters = ", ".join(f"auto {v.text}" for v in self.arguments)
        lines = "".join(f"  {line}\n" for line in self.lines)
        self.of.text.append(f"inline constexpr auto {name} = []({parameters}) {{\n{lines}}};"
                            if self.arguments else f"inline constexpr auto {name} = [] {{\n{lines}}};")
        f = function(name, self, [(v.shape, v.bound, v.below) for v in results], results.index(main))
        self.of.functions.append(f)
        return f

    def program(self):
        self.grow(self.of.left // 3)
        self.call()
        self.grow(self.of.left)
        if self.applied and self.of.chance(0.4):
            self.call(sharing=1)
        h = self.joined()
        results = [v.text for v in self.values + self.places if v not in self.arguments]
        labels = self.of.labels
        if labels or len(h.shape) < 2:
            h = self.add(f"reshape<1, {count(h.shape)}>({h.text})", (1, count(h.shape)), h.bound, h)
        if labels:
            to, width = ", ".join(map(str, labels.shape + (5,))), 5 * count(labels.shape)
            head = f'reshape<{to}>({h.text} | nn::linear<"head", {width}>)'
        else:
            self.of.text.append(f'constexpr auto y = labels<"y", 5{braced(*h.shape[:-1])}>;')
            head = f'{h.text} | nn::linear<"head", 5>'
        self.lines.append(f"const auto logits = {head};")
        loss = f"cross_entropy(logits, y) + mean(square({h.text})) * 0.1_c"
        if not labels and self.of.chance(0.2):
            when = self.draw.choice(["forward", "backward"])
            options = f"nn::linear_cross_entropy_options{{.weight_gradient_in = nn::pass::{when}, .workspace = 1}}"
            loss += f' + nn::linear_cross_entropy<"chunked", 5, {options}>({h.text}, y)'
            self.names.append("chunked.weight")
        self.of.pulled_back = self.of.chance(0.15)
        if self.of.pulled_back:
            loss = "logits * cross_entropy(logits, y)"
        elif self.of.slopes < most_slopes and self.of.chance(0.1):
            by = self.draw.choice([v.text for v in self.values if v.text in h.of])
            self.lines.append(f"const auto slope = grad(mean(square({h.text})), {by});")
            loss += " + mean(tanh(square(slope)))"
        if self.of.chance(0.3):
            others = ["accuracy(logits, y)"] + ["logits"] * (not self.of.pulled_back) + results
            loss = f"outputs({', '.join([loss] + self.draw.sample(others, min(len(others), self.draw.randint(1, 3))))})"
        self.lines.append(f"return {loss};")
        lines = "".join(f"  {line}\n" for line in self.lines)
        self.of.text.append(f"constexpr auto loss = [] {{\n{lines}}}();")
        names = sorted({n for n in self.names if not n.startswith("/")})
        self.of.frozen = []
        self.of.wrt, self.of.accumulates = self.of.chance(0.5) or "input" in self.of.roles, self.of.chance(0.15)
        self.of.threads = self.of.chance(0.2)
        self.of.detaches = self.detaches
        if names and self.of.chance(0.25):
            self.of.frozen = [n.rsplit(".", self.draw.randint(0, n.count(".")))[0]
                              for n in self.draw.sample(names, min(len(names), self.draw.randint(1, 2)))]
        self.of.updates = self.of.chance(0.2)  # the training step updates the parameters itself
        self.of.placed = self.of.chance(0.25)
        self.of.mixed = self.of.chance(0.2)
        self.of.drawn = self.of.mixed and self.of.updates and not self.of.accumulates and self.of.chance(0.5)
        self.of.rule = self.draw.choice(rules if self.of.drawn else rules + whole_rules)
        self.of.in_parts = not self.of.pulled_back and not self.of.drawn and self.of.chance(0.25)


def written(models, counted=True, gradients=False):
    """Returns the tests of some models, by seed, as C++. With `counted`, the tests also count allocations. With
    `gradients`, they check only gradients."""
    text = ["// Written by tests/tools/fuzz.py.", '#include "laws/laws.hpp"', shared]
    for seed, m in models.items():
        frozen = f"seed_{seed}::loss" + (f", freeze<{', '.join(map(quoted, m.frozen))}>" if m.frozen else "")
        threads = ", some_threads" * m.threads
        options = frozen + f", wrt<{', '.join(map(quoted, m.inputs))}>" * m.wrt + ', cotangent<"v">' * m.pulled_back
        options += threads
        stepping = options + (", accumulate_gradients" if m.accumulates else f", update<{m.rule}>" * m.updates)
        rounding = ", mixed<bf16, stochastic_rounding>" if m.drawn else ", mixed<bf16>" * m.mixed
        stepping += rounding
        within = f", in_less<{stepping}>" * m.placed
        text += [f"namespace seed_{seed} {{", *m.text, f"}}  // namespace seed_{seed}"]
        if m.chooses and m.placed:
            # the same model with the groups that `fit` chose
            fixed = [re.sub(r"up_to<(\d)>>\(", r"chosen<\1, groups>>(", line) for line in m.text]
            text += [f"namespace fixed_{seed} {{",
                     f"constexpr int groups = program<{stepping}{within}>::row_groups();", *fixed, "}"]
        if not m.detaches:  # otherwise difference quotients are not the gradient
            text.append(f"BOOST_AUTO_TEST_CASE(differences_of_{seed}) {{ follows_differences<{options}>(); }}")
        if gradients:
            continue
        laws = f"laws_of_{'loops' if m.loops else 'any'}<{stepping}{within}>"
        if m.chooses and m.placed:
            model_and_options = stepping.replace("::loss", f"::loss, fixed_{seed}::loss", 1)
            laws = f"laws_next_to<{model_and_options}{within}>"
        text.append(f"BOOST_AUTO_TEST_CASE(laws_of_{seed}) {{ {laws}(); }}")
        if m.updates and not m.accumulates and not m.drawn and m.rule in rules:
            beside = f"seed_{seed}::loss, {m.rule}{options.removeprefix(f'seed_{seed}::loss')}{rounding}"
            text.append(f"BOOST_AUTO_TEST_CASE(updates_of_{seed}) {{ same_in_step_and_beside<{beside}>(); }}")
        if m.in_parts:
            text.append(f"BOOST_AUTO_TEST_CASE(parts_of_{seed}) {{ same_in_parts<{frozen}{threads}{rounding}>(); }}")
        if counted and not m.drawn:  # a predictor over parameters in bf16 would have to say so, too
            text.append(f"BOOST_AUTO_TEST_CASE(allocations_of_{seed}) {{ allocates_nothing<{options}{rounding}>(); }}")
    return "\n".join(text) + "\n"


# Flags of the long run. Sanitizers replace malloc, so that allocations are not counted with them.
flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DBOOST_TEST_DYN_LINK", "-march=native",
         "-Iinclude", "-Itests"]
sanitized = ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
unoptimized, optimized = ["-O0", "-fopenmp"], ["-O3", "-fopenmp", "-Wno-restrict"]
cells = [("g++", unoptimized), ("clang++-19", ["-O0"]), ("g++", optimized), ("clang++-19", ["-O2"]),
         ("g++", unoptimized), ("clang++-19", sanitized)]
at_once = 200  # operations in one program, because reading the headers takes as long as 40 operations


def call(*command):
    done = subprocess.run(command, cwd=top, env=os.environ | {"LC_ALL": "C"}, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def judge(folder, compiler, options, models, gradients):
    """Returns what is printed for each model that fails, by seed. If a program fails, its models are compiled one by
    one."""
    counted = options != sanitized and not gradients
    source, program = Path(folder, "models.cpp"), f"{folder}/models"
    source.write_text(written(models, counted, gradients))
    sources = [str(source), "tests/run/main.cpp"] + ["tests/laws/counted.cpp"] * counted
    ok, printed = call(compiler, *flags, *own_flags[compiler], *options, *sources, "-o", program,
                       "-lboost_unit_test_framework", "-lz")
    if ok:
        ok, printed = call(program)
    if ok:
        return {}
    apart = [judge(folder, compiler, options, {seed: m}, gradients) for seed, m in models.items() if len(models) > 1]
    return {seed: fault for faults in apart for seed, fault in faults.items()} or {next(iter(models)): printed}


def main(number, first=1, operations=40, *gradients):
    """Runs the models. The compiler and the options of a model depend only on its seed."""
    failed, roles, together = 0, collections.Counter(), max(1, at_once // operations)

    def judged(group):
        seeds = range(max(first, group * together), min(first + number, (group + 1) * together))
        models = {seed: model(seed, operations) for seed in seeds}
        if gradients:
            models = {seed: m for seed, m in models.items() if m.roles and not m.detaches}
        compiler, options = cells[1 if gradients else group % len(cells)]
        with tempfile.TemporaryDirectory() as folder:
            return models, compiler, options, judge(folder, compiler, options, models, gradients) if models else {}

    groups = range(first // together, (first + number - 1) // together + 1)
    for models, compiler, options, faults in for_each(judged, groups):
        failed += len(faults)
        roles.update(kind for m in models.values() for kind in ["models", *["any"] * bool(m.roles), *m.roles])
        print(f"{', '.join(map(str, models))}: {compiler} {' '.join(options)}", flush=True)
        for seed, printed in faults.items():
            print(f"FAILED: ./dev test fuzz 1 {seed} {operations}, which is tests/tools/fuzz.py write {operations} {seed} 1")
            print(printed[:6000], flush=True)
    print("several roles:", ", ".join(f"{kind} {n}" for kind, n in roles.most_common()))
    finish(number - failed, failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "write":
        size, begin, number = map(int, sys.argv[2:])
        print(written({seed: model(seed, size) for seed in range(begin, begin + number)}), end="")
    else:
        main(*map(int, sys.argv[1:4]), *sys.argv[4:])
