#!/usr/bin/env -S python3 -B
"""Compares random configurations of operations and layers with PyTorch's: values, and gradients of all leaves, in double.

`differential.py SEEDS [FIRST]` draws this number of seeds, from the first one on. Each seed has one case of every kind
below. Needs the package torch; ./dev test differential calls it with that of ./dev bench peers.
`differential.py keep` writes the values of PyTorch for the seeds that ./dev test runs: tests/kept/differential.txt.
`differential.py write FIRST SEEDS [KINDS]` prints the program that compares. This needs no PyTorch.

A case has an expression of cairn and one of PyTorch. In both, a formula of name and position gives the numbers of
leaves, as in tests/kept/torch_values.py. In cairn's expression, `$x` is the leaf x.
"""

import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from compilers import finish, top

kept = top / "tests/kept/differential.txt"
kept_seeds = 1, 2  # the first seed and their number
arguments = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DBOOST_TEST_DYN_LINK", "-Iinclude",
             "-Itests", "-Itests/run"]


class Indices(NamedTuple):
    """Indices below a bound."""
    bound: int
    shape: tuple


class Case(NamedTuple):
    """One comparison. `leaves` are shapes of parameters, or Indices. PyTorch's expression calls the leaf `fc.weight`
    by the name fc_weight."""
    cairn: str
    torch: str
    leaves: dict


kinds = {}


def kind(draw_case):
    kinds[draw_case.__name__] = draw_case
    return draw_case


def listed(numbers):
    return ", ".join(map(str, numbers))


def shaped(name, leaf):
    if isinstance(leaf, Indices):
        return f'indices<"{name}", {listed((leaf.bound, *leaf.shape))}>'
    return f'param<"{name}", {listed(leaf)}>'


def numbers_of_indices(name, leaf):
    return [(7 * i + i * i // 3 + sum(name.encode())) % leaf.bound for i in range(math.prod(leaf.shape))]


def a_shape(draw, least=1, most=4, elements=60):
    """Returns the extents of a tensor with at least `least` and at most `most` axes."""
    while True:
        shape = tuple(draw.choice((1, 2, 3, 4, 5, 7)) for _ in range(draw.randint(least, most)))
        if 2 <= math.prod(shape) <= elements:
            return shape


def an_axis(draw, shape):
    """Returns an axis. It may count from the end."""
    return draw.randrange(-len(shape), len(shape))


def some_axes(draw, shape):
    """Returns one or more different axes in increasing order. Each of them may count from the end."""
    chosen = sorted(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
    return [axis - draw.choice((0, len(shape))) for axis in chosen]


def broadcast(draw, shape):
    """Returns a shape that broadcasts to the given one."""
    return tuple(draw.choice((1, extent)) for extent in shape)[draw.randrange(len(shape)):]


@kind
def elementwise(draw):
    function, in_torch = draw.choice((
        ("exp", "torch.exp"), ("tanh", "torch.tanh"), ("sigmoid", "torch.sigmoid"), ("relu", "F.relu"),
        ("square", "torch.square"), ("sin", "torch.sin"), ("cos", "torch.cos"), ("abs", "torch.abs"),
        ("erf", "torch.erf"), ("floor", "torch.floor"), ("ceil", "torch.ceil"), ("round", "torch.round"),
        ("gelu", "F.gelu"), ("gelu_tanh", "gelu_tanh"), ("silu", "F.silu"), ("softplus", "F.softplus"),
        ("mish", "F.mish"), ("elu", "F.elu"), ("hardswish", "F.hardswish"), ("leaky_relu", "F.leaky_relu")))
    x, scale = a_shape(draw), draw.choice((0.25, 1, 3.5))
    return Case(f"$x * {function}({scale}_c * $x)", f"x * {in_torch}({scale} * x)", {"x": x})


@kind
def of_positive(draw):
    function, in_torch = draw.choice((("log", "torch.log"), ("sqrt", "torch.sqrt"), ("log1p", "torch.log1p"),
                                      ("rsqrt", "torch.rsqrt")))
    x, power = a_shape(draw), draw.choice((-2, -1.5, 0.3, 2, 3, 2.7))
    return Case(f"{function}(square($x) + 0.1_c) * pow(square($x) + 0.5_c, {power}_c)",
                f"{in_torch}(x.square() + 0.1) * (x.square() + 0.5) ** {power}", {"x": x})


@kind
def broadcasts(draw):
    x = a_shape(draw)
    y = broadcast(draw, x)
    sign = draw.choice("+-*")
    return Case(f"($x {sign} $y) / (square($y) + 1_c) - maximum($y, $x)",
                f"(x {sign} y) / (y.square() + 1) - torch.maximum(y, x)", {"x": x, "y": y})


@kind
def choices(draw):
    x = a_shape(draw)
    y = broadcast(draw, x)
    compare = draw.choice(("<", "<=", ">", ">="))
    low, high = draw.choice(((-0.5, 0.5), (0, 6), (-1, 0)))
    return Case(f"where($x {compare} $y, $x * $y, square($y)) + clamp(2_c * $x, {low}_c, {high}_c) "
                f"+ masked_fill($x, $x {compare} 0.2_c, {high}_c)",
                f"torch.where(x {compare} y, x * y, y.square()) + (2 * x).clamp({low}, {high}) "
                f"+ x.masked_fill(x {compare} 0.2, {high})", {"x": x, "y": y})


@kind
def reductions(draw):
    x = a_shape(draw, 2)
    axes = some_axes(draw, x)
    function, in_torch = draw.choice((
        ("sum", "torch.sum(x, {0}, keepdim={1})"), ("mean", "torch.mean(x, {0}, keepdim={1})"),
        ("max", "torch.amax(x, {0}, keepdim={1})"), ("min", "torch.amin(x, {0}, keepdim={1})"),
        ("logsumexp", "torch.logsumexp(x, {0}, keepdim={1})"),
        ("vector_norm", "torch.linalg.vector_norm(x, dim={0}, keepdim={1})")))
    keep = draw.random() < 0.5
    return Case(f"{function}<{listed(axes)}>($x{', keepdim' if keep else ''})", in_torch.format(axes, keep), {"x": x})


@kind
def variances(draw):
    x = tuple(extent + 1 for extent in a_shape(draw, 2, 3))
    axes, keep, biased = some_axes(draw, x), draw.random() < 0.5, draw.random() < 0.5
    function, in_torch = draw.choice((("var", "torch.var"), ("stddev", "torch.std")))
    return Case(f"{function}<{listed(axes)}>($x{', biased' if biased else ''}{', keepdim' if keep else ''})",
                f"{in_torch}(x, {axes}, unbiased={not biased}, keepdim={keep})", {"x": x})


@kind
def softmaxes(draw):
    x = a_shape(draw)
    axis = an_axis(draw, x)
    function = draw.choice(("softmax", "log_softmax"))
    return Case(f"{function}<{axis}>(3_c * $x)", f"F.{function}(3 * x, {axis})", {"x": x})


@kind
def extrema_at(draw):
    x = a_shape(draw, 2)
    axis = an_axis(draw, x)
    function = draw.choice(("argmax", "argmin"))
    return Case(f"as_real({function}<{axis}>($x, keepdim)) * $x", f"x.{function}({axis}, keepdim=True) * x", {"x": x})


@kind
def moved_axes(draw):
    x = a_shape(draw, 2)
    order = draw.sample(range(len(x)), len(x))
    if order == sorted(order):  # is refused, because it changes nothing
        order.reverse()
    return Case(f"transpose<{listed(order)}>($x) * transpose<{listed(order)}>(tanh($x))",
                f"x.permute({order}) * x.tanh().permute({order})", {"x": x})


@kind
def new_axes(draw):
    x = a_shape(draw, 1, 3)
    at = draw.randrange(-len(x) - 1, len(x) + 1)
    stretched = list(x)
    stretched.insert(at if at >= 0 else at + len(x) + 1, draw.choice((1, 2, 3)))
    return Case(f"expand<{listed(stretched)}>(unsqueeze<{at}>($x)) * sum(squeeze<0>(reshape<1, -1>($x)))",
                f"x.unsqueeze({at}).expand({stretched}) * x.reshape(1, -1).squeeze(0).sum()", {"x": x})


@kind
def repeats(draw):
    x = a_shape(draw, 1, 3, 20)
    times = [draw.choice((1, 2, 3)) for _ in range(draw.randint(1, len(x)))]
    return Case(f"tile<{listed(times)}>(square($x))", f"x.square().tile({times})", {"x": x})


@kind
def parts(draw):
    x = a_shape(draw, 1, 4)
    axis = an_axis(draw, x)
    begin = draw.randrange(x[axis])
    length = draw.randint(1, x[axis] - begin)
    padding = draw.randint(0, 2), draw.randint(0, 2)
    sides = [0, 0] * (len(x) - 1 - axis % len(x)) + list(padding)
    piece = f"narrow({axis}, {begin}, {length})"
    return Case(f"pad<{axis}, {listed(padding)}>(slice<{axis}, {begin}, {begin + length}>(square($x)))",
                f"F.pad(x.square().{piece}, {sides})", {"x": x})


@kind
def joins(draw):
    x = list(a_shape(draw, 1, 3, 30))
    axis = an_axis(draw, x)
    y = list(x)
    y[axis] = draw.randint(1, 4)
    new = draw.randrange(-len(x) - 1, len(x) + 1)
    if draw.random() < 0.5:
        return Case(f"concatenate<{axis}>($x, square($y), $x)", f"torch.cat([x, y.square(), x], {axis})",
                    {"x": tuple(x), "y": tuple(y)})
    return Case(f"stack<{new}>($x, square($x))", f"torch.stack([x, x.square()], {new})", {"x": tuple(x)})


@kind
def turned(draw):
    x = a_shape(draw, 2)
    axes, axis, by = some_axes(draw, x), an_axis(draw, x), draw.randint(-8, 8)
    return Case(f"flip<{listed(axes)}>($x) * roll<{axis}, {by}>(square($x))",
                f"x.flip({axes}) * x.square().roll({by}, {axis})", {"x": x})


@kind
def rows_of_indices(draw):
    x, i = a_shape(draw, 1, 3, 30), a_shape(draw, 1, 2, 12)
    axis = draw.randrange(len(x))
    result = [*x[:axis], *i, *x[axis + 1:]]
    at = draw.choice(("$i", f"as_indices<{x[axis]}>(as_real($i))"))
    return Case(f"gather<{axis}>(tanh($x), {at})", f"x.tanh().index_select({axis}, i.reshape(-1)).reshape({result})",
                {"x": x, "i": Indices(x[axis], i)})


@kind
def products(draw):
    rows, inner, columns = (draw.choice((1, 2, 3, 5, 8)) for _ in range(3))
    batch = a_shape(draw, 1, 2, 8) if draw.random() < 0.7 else ()
    other = broadcast(draw, batch) if batch and draw.random() < 0.5 else batch
    x, y = (*batch, rows, inner), (*other, inner, columns)
    if draw.random() < 0.5:
        return Case("matmul($x, transpose($y))", "x @ y.mT", {"x": x, "y": (*other, columns, inner)})
    return Case("matmul($x, $y)", "x @ y", {"x": x, "y": y})


@kind
def contractions(draw):
    """Draws a product of two tensors whose axes are letters: some in both and in the result, some summed over."""
    letters = list("abcdef")[:draw.randint(2, 5)]
    sizes = {letter: draw.choice((1, 2, 3, 4)) for letter in letters}
    first = draw.sample(letters, draw.randint(1, len(letters)))
    second = draw.sample(letters, draw.randint(1, min(4, len(letters))))
    known = sorted({*first, *second})
    result = draw.sample(known, draw.randint(0, min(4, len(known))))
    text = f"{''.join(first[:4])},{''.join(second)}->{''.join(letter for letter in result if letter in {*first[:4], *second})}"
    return Case(f'einsum<"{text}">($x, $y)', f"torch.einsum('{text}', x, y)",
                {"x": tuple(sizes[letter] for letter in first[:4]), "y": tuple(sizes[letter] for letter in second)})


@kind
def linear_systems(draw):
    lead, n, columns = draw.choice(((), (2,), (2, 3))), draw.randint(1, 6), draw.randint(1, 4)
    leaves = {"a": (*lead, n, n), "b": (*lead, n, columns)}
    matrix, in_torch = f"(matmul($a, transpose($a)) + one_hot(arange<{n}>))", f"(a @ a.mT + torch.eye({n}))"
    if draw.random() < 0.5:
        return Case(f"solve({matrix}, $b)", f"torch.linalg.solve({in_torch}, b)", leaves)
    return Case(f"matmul(cholesky({matrix}), $b)", f"torch.linalg.cholesky({in_torch}) @ b", leaves)


@kind
def sums_so_far(draw):
    x = a_shape(draw)
    axis = an_axis(draw, x)
    return Case(f"cumsum<{axis}>(square($x))", f"x.square().cumsum({axis})", {"x": x})


@kind
def sorted_along(draw):
    x = a_shape(draw, 2)
    axis, falling = an_axis(draw, x), draw.random() < 0.5
    count = draw.randint(1, x[axis])
    if draw.random() < 0.5:
        return Case(f"topk<{count}, {axis}>($x) * as_real(argtopk<{count}, {axis}>($x))",
                    f"x.topk({count}, {axis}).values * x.topk({count}, {axis}).indices", {"x": x})
    order = ", descending" if falling else ""
    return Case(f"sort<{axis}>($x{order}) * as_real(argsort<{axis}>($x{order}))",
                f"x.sort({axis}, {falling}).values * x.argsort({axis}, {falling})", {"x": x})


@kind
def along_rows(draw):
    x = a_shape(draw, 1, 3)
    axis = draw.randrange(len(x))
    i = [*x]
    i[axis] = draw.randint(1, 5)
    at = Indices(x[axis], tuple(i))
    if draw.random() < 0.5:
        return Case(f"gather_along<{axis}>($x, $i)", f"x.gather({axis}, i)", {"x": x, "i": at})
    return Case(f"scatter_add_along<{axis}>($x, $i, $y)", f"x.scatter_add({axis}, i, y)",
                {"x": x, "i": at, "y": tuple(i)})


@kind
def attention(draw):
    batch = draw.randint(1, 2)
    queries, keys = draw.randint(2, 9), draw.randint(2, 9)  # with one key, gradients of queries are only rounding
    groups, per_group, width, value = draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 8), draw.randint(1, 8)
    causal = draw.random() < 0.5
    keys = queries if causal else keys
    return Case(f"nn::attention($q, $k, $v{', nn::causal' if causal else ''})",
                "F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), "
                f"is_causal={causal}, enable_gqa=True).transpose(1, 2)",
                {"q": (batch, queries, groups * per_group, width), "k": (batch, keys, groups, width),
                 "v": (batch, keys, groups, value)})


@kind
def cross_entropies(draw):
    classes = draw.randint(2, 6)
    rows = a_shape(draw, 1, 2, 12)
    smoothing = draw.choice((0, 0.1, 0.4))
    labels = Indices(classes, rows)
    ignored = draw.choice((-100, min(numbers_of_indices("y", labels))))
    if set(numbers_of_indices("y", labels)) <= {ignored}:
        ignored = -100  # otherwise, no row would count
    settings = f".label_smoothing = {smoothing}"
    return Case(f"cross_entropy<nn::cross_entropy_options{{.ignore_index = {ignored}, {settings}}}>(2_c * $x, $y, "
                f"generated<{classes}>([](int i) {{ return 1.0 / (1 + i); }}))",
                f"F.cross_entropy(2 * x.reshape(-1, {classes}), y.reshape(-1), 1 / torch.arange(1, {classes + 1}), "
                f"ignore_index={ignored}, label_smoothing={smoothing})", {"x": (*rows, classes), "y": labels})


@kind
def losses(draw):
    x = a_shape(draw)
    delta = draw.choice((0.3, 1, 2.5))
    function, in_torch = draw.choice((
        ("mse($x, $y)", "F.mse_loss(x, y)"), ("nn::l1($x, $y)", "F.l1_loss(x, y)"),
        (f"huber<{delta}>($x, $y)", f"F.huber_loss(x, y, delta={delta})"),
        ("binary_cross_entropy_with_logits(3_c * $x, sigmoid($y))",
         "F.binary_cross_entropy_with_logits(3 * x, y.sigmoid())")))
    return Case(function, in_torch, {"x": x, "y": x})


@kind
def losses_of_rows(draw):
    x = (draw.randint(1, 5), draw.randint(2, 6))
    margin = draw.choice((0.2, 1, 1.5))
    function, in_torch = draw.choice((
        ("soft_cross_entropy($x, softmax($y))", "F.cross_entropy(x, y.softmax(-1))"),
        ("kl_div(log_softmax($x), softmax($y))", "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')"),
        ("sum(cosine_similarity($x, $y) * 2_c)", "F.cosine_similarity(x, y, dim=-1).sum() * 2"),
        (f"triplet_loss<{margin}>($x, $y, sin($x * 2_c))",
         f"F.triplet_margin_loss(x, y, (x * 2).sin(), margin={margin})")))
    return Case(function, in_torch, {"x": x, "y": x})


def pair(draw, choices):
    """Returns a height and a width, which are often equal."""
    both = draw.choice(choices)
    return (both, both) if draw.random() < 0.6 else (both, draw.choice(choices))


def extents(two):
    return f"nn::extents{{{listed(two)}}}"


def channels_first(call):
    """Returns PyTorch's expression of images {N, H, W, C}, for one of images {N, C, H, W}."""
    return f"{call.replace('IMAGES', 'x.movedim(-1, 1)')}.movedim(1, -1)"


def image_sides(draw, extent, padding, dilation):
    """Returns the height and the width of an image into which a window of this extent fits."""
    return tuple(max(1, dilation[i] * (extent[i] - 1) + 1 - 2 * padding[i]) + draw.randint(0, 5) for i in range(2))


@kind
def convolutions(draw):
    extent, stride, dilation = pair(draw, (1, 2, 3, 4)), pair(draw, (1, 1, 2, 3)), pair(draw, (1, 1, 2, 3))
    padding = pair(draw, range(max(extent) + 1))
    groups = draw.choice((1, 1, 2, 3))
    read, made = groups * draw.randint(1, 3), groups * draw.randint(1, 3)
    sides = image_sides(draw, extent, padding, dilation)
    in_cairn, in_torch = f"{{{listed(padding)}}}", padding
    if draw.random() < 0.2:
        stride, in_cairn, in_torch = (1, 1), "nn::same", "same"
    window = (f"nn::window{{.stride = {{{listed(stride)}}}, .padding = {in_cairn}, .dilation = {{{listed(dilation)}}}, "
              f".groups = {groups}}}")
    return Case(f'$x | nn::conv2d<"c", {made}, {extents(extent)}, {window}>',
                channels_first(f"F.conv2d(IMAGES, c_weight, c_bias, {stride}, {in_torch!r}, {dilation}, {groups})"),
                {"x": (draw.randint(1, 2), *sides, read), "c.weight": (made, read // groups, *extent),
                 "c.bias": (made,)})


@kind
def convolutions_of_rows(draw):
    extent, stride, dilation = draw.choice((1, 2, 3, 5)), draw.randint(1, 3), draw.choice((1, 1, 2, 3))
    padding, groups = draw.randint(0, extent), draw.choice((1, 1, 2))
    read, made = groups * draw.randint(1, 3), groups * draw.randint(1, 3)
    length = max(1, dilation * (extent - 1) + 1 - 2 * padding) + draw.randint(0, 6)
    window = f"nn::window{{{stride}, {padding}, {dilation}, {groups}}}"
    return Case(f"conv1d<{window}>($x, $w)",
                channels_first(f"F.conv1d(IMAGES, w, None, {stride}, {padding}, {dilation}, {groups})"),
                {"x": (draw.randint(1, 2), length, read), "w": (made, read // groups, extent)})


@kind
def transposed_convolutions(draw):
    extent, stride, dilation = pair(draw, (1, 2, 3, 4)), pair(draw, (1, 2, 3)), pair(draw, (1, 1, 2))
    padding = tuple(draw.randint(0, side // 2) for side in extent)
    further = tuple(draw.randrange(max(stride[i], dilation[i])) for i in range(2))
    groups = draw.choice((1, 1, 2))
    read, made = groups * draw.randint(1, 3), groups * draw.randint(1, 3)
    window = (f"nn::window{{.stride = {{{listed(stride)}}}, .padding = {{{listed(padding)}}}, .dilation = "
              f"{{{listed(dilation)}}}, .groups = {groups}, .output_padding = {{{listed(further)}}}}}")
    return Case(f"conv_transpose2d<{window}>($x, $w)",
                channels_first(f"F.conv_transpose2d(IMAGES, w, None, {stride}, {padding}, {further}, {groups}, {dilation})"),
                {"x": (1, draw.randint(2, 5), draw.randint(2, 5), read), "w": (read, made // groups, *extent)})


@kind
def pools(draw):
    extent, stride, ceil = pair(draw, (1, 2, 3, 4)), pair(draw, (1, 2, 3, 4)), draw.random() < 0.5
    padding, dilation = tuple(draw.randint(0, side // 2) for side in extent), (1, 1)
    settings = f".stride = {{{listed(stride)}}}, .padding = {{{listed(padding)}}}"
    in_torch = f"{extent}, {stride}, {padding}"
    if draw.random() < 0.5:
        function, dilation = "max_pool2d", pair(draw, (1, 1, 2))
        settings += f", .dilation = {{{listed(dilation)}}}, .ceil_mode = {str(ceil).lower()}"
        in_torch += f", {dilation}, {ceil}"
    else:
        function, counted = "avg_pool2d", draw.random() < 0.5
        settings += f", .ceil_mode = {str(ceil).lower()}, .count_include_pad = {str(counted).lower()}"
        in_torch += f", {ceil}, {counted}"
    sides = image_sides(draw, extent, (0, 0), dilation)
    return Case(f"{function}<{extents(extent)}, nn::window{{{settings}}}>($x)",
                channels_first(f"F.{function}(IMAGES, {in_torch})"), {"x": (draw.randint(1, 2), *sides, draw.randint(1, 4))})


@kind
def adaptive_pools(draw):
    to = draw.randint(1, 5), draw.randint(1, 5)
    return Case(f"adaptive_avg_pool2d<{listed(to)}>($x) * adaptive_max_pool2d<{listed(to)}>($x)",
                channels_first(f"(F.adaptive_avg_pool2d(IMAGES, {to}) * F.adaptive_max_pool2d(IMAGES, {to}))"),
                {"x": (draw.randint(1, 2), draw.randint(1, 7), draw.randint(1, 7), draw.randint(1, 3))})


@kind
def larger_images(draw):
    image = {"x": (draw.randint(1, 2), draw.randint(1, 5), draw.randint(1, 5), draw.randint(1, 4))}
    factor, corners = draw.randint(1, 4), draw.random() < 0.5
    if draw.random() < 0.4:
        return Case(f"upsample2d<{factor}>($x)", channels_first(f"F.interpolate(IMAGES, scale_factor={factor})"), image)
    to = draw.randint(1, 9), draw.randint(1, 9)
    mode = "nn::bilinear_corners" if corners else "nn::bilinear"
    return Case(f"interpolate2d<{listed(to)}, {mode}>($x)",
                channels_first(f"F.interpolate(IMAGES, {to}, mode='bilinear', align_corners={corners})"), image)


@kind
def linears(draw):
    x, out = a_shape(draw, 2), draw.randint(1, 7)
    return Case(f'$x | nn::linear<"fc", {out}>', "F.linear(x, fc_weight, fc_bias)",
                {"x": x, "fc.weight": (out, x[-1]), "fc.bias": (out,)})


@kind
def embeddings(draw):
    rows, width, i = draw.randint(1, 7), draw.randint(1, 5), a_shape(draw, 1, 2, 12)
    return Case(f'$i | nn::embedding<"e", {width}>', "F.embedding(i, e_weight)",
                {"i": Indices(rows, i), "e.weight": (rows, width)})


@kind
def norms_of_rows(draw):
    x = a_shape(draw, 2)
    x, eps = (*x[:-1], x[-1] + 1), draw.choice((1e-5, 1e-2))
    if draw.random() < 0.3:
        if draw.random() < 0.4:
            return Case(f'$x | nn::rms_norm<"n", nn::rms_norm_options{{.eps = {eps}, .affine = false}}>',
                        f"F.rms_norm(x, x.shape[-1:], eps={eps})", {"x": x})
        return Case(f'$x | nn::rms_norm<"n", {eps}>', f"F.rms_norm(x, x.shape[-1:], n_weight, {eps})",
                    {"x": x, "n.weight": x[-1:]})
    if draw.random() < 0.3:
        return Case(f'$x | nn::layer_norm<"n", nn::norm_options{{.eps = {eps}, .affine = false}}>',
                    f"F.layer_norm(x, x.shape[-1:], eps={eps})", {"x": x})
    return Case(f'$x | nn::layer_norm<"n", {eps}>', f"F.layer_norm(x, x.shape[-1:], n_weight, n_bias, {eps})",
                {"x": x, "n.weight": x[-1:], "n.bias": x[-1:]})


@kind
def norms_of_images(draw):
    groups, per_group = draw.randint(1, 3), draw.randint(1, 3)
    channels, eps, affine = groups * per_group, draw.choice((1e-5, 1e-2)), draw.random() < 0.7
    x = (2, draw.randint(1, 4), draw.randint(2, 4), channels)
    leaves = {"x": x} | ({"n.weight": (channels,), "n.bias": (channels,)} if affine else {})
    parameters = "n_weight, n_bias" if affine else "None, None"
    settings = f".eps = {eps}, .affine = {str(affine).lower()}"
    layer, in_torch = draw.choice((
        (f'group_norm<"n", {groups}, nn::norm_options{{{settings}}}>', f"F.group_norm(IMAGES, {groups}, {parameters}, {eps})"),
        (f'instance_norm<"n", nn::instance_norm_options{{{settings}}}>',
         f"F.instance_norm(IMAGES, None, None, {parameters}, eps={eps})"),
        (f'batch_norm<"n", nn::batch_norm_options{{{settings}}}>',
         f"F.batch_norm(IMAGES, None, None, {parameters}, True, eps={eps})")))
    return Case(f"$x | nn::{layer}", channels_first(in_torch), leaves)


@kind
def parametric_slopes(draw):
    x, one = a_shape(draw, 2), draw.random() < 0.5
    slopes = 1 if one else x[-1]
    return Case(f'$x | nn::prelu<"act", {slopes}>',
                f"F.prelu(x.reshape(-1, x.shape[-1]), act_weight).reshape(x.shape)", {"x": x, "act.weight": (slopes,)})


@kind
def recurrent_layers(draw):
    name, gates = draw.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    layers, both, read, hidden = draw.randint(1, 2), draw.random() < 0.5, draw.randint(1, 4), draw.randint(1, 4)
    leaves = {"x": (draw.randint(1, 3), draw.randint(1, 4), read)}
    for layer in range(layers):
        for end in (f"l{layer}", f"l{layer}_reverse")[:1 + both]:
            leaves |= {f"n.weight_ih_{end}": (gates * hidden, (1 + both) * hidden if layer else read),
                       f"n.weight_hh_{end}": (gates * hidden, hidden), f"n.bias_ih_{end}": (gates * hidden,),
                       f"n.bias_hh_{end}": (gates * hidden,)}
    options = f".num_layers = {layers}, .bidirectional = {str(both).lower()}"
    return Case(f'$x | nn::{name.lower()}<"n", {hidden}, nn::recurrent_options{{{options}}}>',
                f"called(nn.{name}({read}, {hidden}, {layers}, batch_first=True, bidirectional={both}), 'n', leaves)(x)[0]",
                leaves)


@kind
def transformer_blocks(draw):
    heads = draw.randint(1, 3)
    width, inner, first = heads * draw.randint(2, 3), draw.randint(1, 6), draw.random() < 0.5
    x = (draw.randint(1, 2), draw.randint(1, 5), width)
    leaves = {"x": x, "self_attn.in_proj_weight": (3 * width, width), "self_attn.in_proj_bias": (3 * width,),
              "self_attn.out_proj.weight": (width, width), "self_attn.out_proj.bias": (width,),
              "linear1.weight": (inner, width), "linear1.bias": (inner,), "linear2.weight": (width, inner),
              "linear2.bias": (width,)}
    leaves |= {f"norm{i}.{part}": (width,) for i in (1, 2) for part in ("weight", "bias")}
    options = f".dim_feedforward = {inner}, .norm_first = {str(first).lower()}"
    return Case(f"$x | nn::transformer_block<{heads}, nn::transformer_options{{{options}}}>",
                f"called(nn.TransformerEncoderLayer({width}, {heads}, {inner}, 0, 'gelu', batch_first=True, "
                f"norm_first={first}), '', leaves)(x)", leaves)


def cases(first, seeds, chosen=None):
    """Yields the name and the case of each kind, for each seed."""
    for seed in range(first, first + seeds):
        for name in chosen or kinds:
            yield f"{name}_{seed}", kinds[name](random.Random(f"{name} {seed}"))


def program(first, seeds, file, chosen=None):
    """Returns the C++ program that compares cairn with the values in the file."""
    text = ['#include "torch_values.hpp"', "namespace {", f'const bool chosen = (file_of_values = "{file}", true);', "}",
            "BOOST_AUTO_TEST_SUITE(differential)"]
    for name, case in cases(first, seeds, chosen):
        expression = re.sub(r"\$(\w+)", lambda found: shaped(found[1], case.leaves[found[1]]), case.cairn)
        bound = "".join(f', bind<"{leaf}">(std::array{{{listed(numbers_of_indices(leaf, indices))}}})'
                        for leaf, indices in case.leaves.items() if isinstance(indices, Indices))
        text += [f"BOOST_AUTO_TEST_CASE({name}) {{", f'  agrees<({expression})>("{name}"{bound});', "}"]
    return "\n".join([*text, "BOOST_AUTO_TEST_SUITE_END()", ""])


def values(first, seeds):
    """Returns the lines of a file of values, as tests/kept/torch_values.py writes them."""
    import torch
    import torch.nn.functional as F
    torch.set_default_dtype(torch.float64)

    def filled(name, shape):
        return torch.sin(torch.arange(math.prod(shape), dtype=torch.float64) * 0.37 + sum(name.encode()) % 31).reshape(shape)

    def called(module, prefix, tensors):
        """Returns the module as a function whose parameters are the leaves with this prefix."""
        named = {name: tensors[f"{prefix}.{name}".lstrip(".")] for name, _ in module.named_parameters()}
        return lambda *inputs: torch.func.functional_call(module, named, inputs)

    lines = []

    def line(name, tensor):
        lines.append(" ".join((name, *(repr(float(x)) for x in tensor.detach().reshape(-1)))))

    for name, case in cases(first, seeds):
        leaves = {leaf: torch.tensor(numbers_of_indices(leaf, shape)).reshape(shape.shape)
                  if isinstance(shape, Indices) else filled(leaf, shape).requires_grad_()
                  for leaf, shape in case.leaves.items()}
        known = {"torch": torch, "F": F, "nn": torch.nn, "called": called, "leaves": leaves,
                 "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
        y = eval(case.torch, known, {leaf.replace(".", "_"): tensor for leaf, tensor in leaves.items()})
        y.backward(filled("cotangent", y.shape))
        line(name, y)
        for leaf, tensor in leaves.items():
            if tensor.is_floating_point():
                line(f"{name}.{leaf}", tensor.grad)
    return "\n".join([*lines, ""])


def main(seeds, first=1):
    """Compares these seeds. Each seed is a program of its own, so that a compiler needs little memory."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + seeds):
            source, file, compiled = (Path(folder, name) for name in ("cases.cpp", "values.txt", "cases"))
            file.write_text(values(seed, 1))
            source.write_text(program(seed, 1, file))
            subprocess.run(["clang++-19", *arguments, source, "tests/run/main.cpp", "-o", compiled,
                            "-lboost_unit_test_framework"], cwd=top, check=True)
            ran = subprocess.run([compiled], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            wrong = set(re.findall(r'in "differential/(\w+)"', ran.stdout))
            failed += len(wrong) or ran.returncode != 0
            passed += len(kinds) - len(wrong)
            print(ran.stdout if ran.returncode else f"seed {seed}: {len(kinds)} cases agree", flush=True)
    finish(passed, failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "write":
        print(program(int(sys.argv[2]), int(sys.argv[3]), kept, sys.argv[4:]), end="")
    elif sys.argv[1] == "keep":
        kept.write_text(values(*kept_seeds))
    else:
        main(*map(int, sys.argv[1:]))
