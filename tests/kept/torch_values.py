#!/usr/bin/env python3
"""Writes what PyTorch computes for the models of tests/run/torch_*.cpp. Needs PyTorch, which
`./dev bench peers` installs: build/peers/bin/python tests/kept/torch_values.py > tests/kept/torch_values.txt

Each line contains the name of a case and its value, or `case.leaf` and the gradient of this leaf, in row-major order.
On both sides, a formula computes inputs and weights (`filled`), and all numbers are in double. The file was made with
PyTorch 2.15.0 (CPU). The tests read the file and need no Python.
"""
from collections import OrderedDict
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)


def filled(name, shape):
    """Returns the numbers of a leaf. They are a formula of the name and of the position."""
    count = 1
    for extent in shape:
        count *= extent
    start = sum(name.encode()) % 31
    return torch.sin(torch.arange(count, dtype=torch.float64) * 0.37 + start).reshape(shape)


def line(name, tensor):
    print(name, *(repr(float(x)) for x in tensor.detach().reshape(-1)))


def case(name, function, **leaves):
    """Writes a function of leaves with these shapes, and its gradients. The numbers called `cotangent` are the
    cotangent."""
    tensors = {leaf: filled(leaf, shape).requires_grad_() for leaf, shape in leaves.items()}
    y = function(*tensors.values())
    y.backward(filled("cotangent", y.shape))
    line(name, y)
    for leaf, tensor in tensors.items():
        line(f"{name}.{leaf}", tensor.grad)


case("sigmoid", torch.sigmoid, a=(3, 5))
case("gelu", F.gelu, a=(3, 5))


def functions(a, row):
    positive = row.square() + 0.1
    return (a.sin() * row.cos() + positive.log1p() * positive.rsqrt() + F.softplus(3 * a) * F.silu(a) +
            a.abs() * torch.minimum(a, row) + positive ** 2.3 + F.leaky_relu(a) * F.leaky_relu(row, 0.2))


case("functions", functions, a=(3, 5), row=(5,))
case("choices", lambda a, row: torch.where(a < row, a * row, row.square()) + a.clamp(-0.5, 0.5) * row +
     torch.where(a >= 0, row, a) + a.clamp(0.5, -0.25) * row, a=(3, 5), row=(5,))
case("ties", lambda one, same: torch.minimum(one, same) * 2 + one.clamp(same, torch.tensor(6.0)) + (one - same).abs() +
     F.leaky_relu(one - same, 0.2) + (one - same).clamp(0, 6) * 3 + (one - same).clamp(-6, 0) * 5 +
     torch.where(one == same, one * 7, same), ab=(3, 5), ba=(3, 5))
case("signs", lambda a, row, one, same: a.sign() * row + (one - same).sign() * 7 + a * one * same, a=(3, 5), row=(5,),
     ab=(3, 5), ba=(3, 5))

case("whole_numbers", lambda a, row: (2 * a).erf() * row + (3 * a).floor() * a + (3 * row).ceil() * row +
     (a + 0.5).round() * row, a=(3, 5), row=(5,))


def systems(a, b, c):
    """Solves systems of equations whose matrices need pivots, and decomposes covariances."""
    covariance = c @ c.mT + torch.eye(4)
    return torch.linalg.solve(a * (1 - torch.eye(4)), b) + torch.linalg.cholesky(covariance) @ b


case("systems", systems, a=(2, 4, 4), b=(2, 4, 3), c=(2, 4, 4))


def shifted(x, by, dim, mode):
    """Moves a tensor towards higher indices. The elements that move in are zero, or the element at the edge."""
    n = x.shape[dim]
    at = torch.arange(n) - by
    inside = (0 <= at) & (at < n)
    moved = x.index_select(dim, at.clamp(0, n - 1))
    if mode == "edge":
        return moved
    return moved * inside.to(x.dtype).reshape([-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())])


case("rolls", lambda a, b: torch.roll(a, 2, -1) * a + torch.roll(a.square(), -4, 0) * torch.roll(b, 8, 1), a=(3, 5), b=(3, 5))
case("shifts", lambda a, b: shifted(a, 1, -1, "zeros") * b + shifted(a, -2, 0, "edge") * shifted(b.square(), 3, 1, "edge") +
     shifted(b, -4, 1, "zeros") * a, a=(3, 5), b=(3, 5))
case("variances", lambda x: x.var((0, -1), keepdim=True) * x.var(1, unbiased=False).sum() + x.var(),
     x=(2, 3, 4))
# PyTorch computes the gradient of F.hardsigmoid with 1 / 6 in floats. Therefore hardsigmoid is written with relu6.
case("more_activations", lambda a, b: F.elu(3 * a) * b + F.elu(b, 0.3) + F.relu6(5 * a + 3) / 6 * F.hardswish(5 * b) +
     F.mish(4 * a) + F.gelu(4 * b, approximate="tanh"), a=(3, 5), b=(3, 5))
case("activations_at_zero", lambda one, same: F.elu(one - same) + 2 * F.elu(one - same, 0.3) + F.mish(one - same) +
     F.hardswish(one - same) + F.gelu(one - same, approximate="tanh"), ab=(3, 5), ba=(3, 5))
case("prelus", lambda a, one, each: F.prelu(a, one) * F.prelu(3 * a, each) + F.prelu(a - a, each), a=(3, 5), one=(1,),
     each=(5,))
case("more_reductions", lambda x: x.logsumexp((0, -1), keepdim=True) * x.std((0, 1)) +
     torch.linalg.vector_norm(x, dim=(0, 2), keepdim=True) * x.logsumexp(1, keepdim=True) + x.std(unbiased=False) +
     torch.linalg.vector_norm(x) + (1000 * x).logsumexp((0, 1, 2)), x=(2, 3, 4))
second = torch.tensor([[0.0], [1.0], [0.0]])
case("zero_roots", lambda x: torch.linalg.vector_norm(x * second, dim=-1) + (x * second).std(-1), x=(3, 5))
case("masked_fills", lambda a, row: a.masked_fill(row < 0, 2.5) * row, a=(3, 5), row=(5,))
case("stretched_axes", lambda a, row: a.unsqueeze(1) * row.unsqueeze(-1).unsqueeze(0) +
     (row.reshape(5, 1, 1).squeeze(1) * a.tile(2)[0, :5]).expand(2, -1, 5).sum(0) * a.unsqueeze(-2) +
     row.square().expand(3, 1, -1), a=(3, 5), row=(5,))
case("tiles", lambda a, row: a.tile(2, 1, 3) * a.square().tile((2, 1)).sum() + row.tile(2, 3, 3), a=(3, 5), row=(5,))
case("sorts", lambda a, b: a.sort(-1)[0] * b + b.sort(0, descending=True)[0].square(), a=(3, 5), b=(3, 5))
case("largest_elements", lambda a, b: a.topk(3)[0] * b.topk(3, 1)[0].square() +
     (b.topk(2, 0)[0] * a.topk(2, 0)[1]).sum(), a=(3, 5), b=(3, 5))
case("smallest_elements", lambda a, b: a.topk(2, largest=False)[0] * b.topk(2)[0].square() +
     (b.topk(3, 0, largest=False)[1] * a).sum(), a=(3, 5), b=(3, 5))
case("sorted_positions", lambda a, b: a.gather(1, b.argsort(1, descending=True)) * b + a.argsort(0) * a, a=(3, 5),
     b=(3, 5))
case("running_sums", lambda a, b: a.cumsum(1) * b.square().cumsum(-2), a=(3, 5), b=(3, 5))
positions = torch.tensor([[1, 0, 1, 1], [4, 4, 0, 2], [3, 1, 0, 3]])
case("along_an_axis", lambda a, v, b: a.gather(-1, positions) * v +
     (a.scatter_add(1, positions, v.square()) * b).sum(), a=(3, 5), v=(3, 4), b=(3, 5))
distances = torch.arange(4) - torch.arange(3)[:, None] + 2
case("relative_positions", lambda bias, x: bias[distances].permute(2, 0, 1) * x + F.embedding(distances.T, bias).sum(),
     bias=(6, 2), x=(2, 3, 4))
case("einsums", lambda a, b, c, d: torch.einsum("bij,bjk->bik", a, b) * torch.einsum("bij,jk->bik", a, c) +
     torch.einsum("bij,kl->bil", a, c) + torch.einsum("ji,j->i", c, d) +
     torch.einsum("bij,bji->", a, b) * torch.einsum("bij,bji->bi", a, b).unsqueeze(-1) +
     torch.einsum("bji,bkj->bik", a, b).square().sum() + (torch.einsum("bij,bjk->kbi", a, b) ** 3).sum() +
     torch.einsum("i,jkl->klij", d, b).square().mean() + torch.einsum(",k->k", d.sum(), c.mean(0)),
     a=(2, 3, 4), b=(2, 4, 3), c=(4, 3), d=(4,))
case("losses", lambda a, b: F.l1_loss(a, b) + 2 * F.huber_loss(3 * a, b, delta=0.7) + 3 * F.huber_loss(a, b) +
     F.binary_cross_entropy_with_logits(9 * a, b.square()), a=(3, 5), b=(3, 5))


classes = torch.arange(24).square().remainder(5)
by_class = 1 / (1 + torch.arange(5.0))


def cross_entropy(x, labels, row=None, loss=F.cross_entropy, **options):
    """Returns the cross entropy, or another loss, of logits with the classes last. The rows may be weighted."""
    labels = labels.reshape(x.shape[:-1])
    if row is None:
        return loss(x.movedim(-1, 1).contiguous(), labels, **options)
    weight, ignored = options.get("weight", torch.ones(x.shape[-1])), options.get("ignore_index", -100)
    counted = (labels != ignored) * weight[labels.minimum(torch.tensor(x.shape[-1] - 1))] * row
    return (loss(x.movedim(-1, 1).contiguous(), labels, reduction="none", **options) * row).sum() / counted.sum()


case("cross_entropies", lambda x, row: cross_entropy(x, classes) + 2 * cross_entropy(x, classes, label_smoothing=0.1) +
     3 * cross_entropy(x, classes, weight=by_class, ignore_index=4) + 4 * cross_entropy(x, classes, row.square()),
     x=(2, 3, 4, 5), row=(2, 3, 4))
ignored = torch.where(torch.arange(24) % 4 == 0, 255, classes)
case("cross_entropies_ignored", lambda x, row: cross_entropy(x, ignored, ignore_index=255) +
     2 * cross_entropy(3 * x, ignored, row.square(), weight=by_class, ignore_index=255, label_smoothing=0.3),
     x=(2, 3, 4, 5), row=(2, 3, 4))

case("nll_losses", lambda x, row: cross_entropy(x, classes, loss=F.nll_loss) +
     2 * cross_entropy(x, classes, loss=F.nll_loss, weight=by_class, ignore_index=4) +
     3 * cross_entropy(x, ignored, row.square(), F.nll_loss, weight=by_class, ignore_index=255),
     x=(2, 3, 4, 5), row=(2, 3, 4))
case("soft_cross_entropies", lambda x, p: F.cross_entropy(3 * x.movedim(-1, 1), p.square().movedim(-1, 1)) +
     2 * F.cross_entropy(x[1], p[1].softmax(-1)), x=(2, 3, 5), p=(2, 3, 5))
case("kl_divergences", lambda x, p: F.kl_div(x.log_softmax(-1), p.square(), reduction="batchmean") +
     2 * F.kl_div(3 * x, p.relu().detach(), reduction="batchmean"), x=(4, 5), p=(4, 5))
case("cosines", lambda a, b: F.cosine_similarity(a[:, None], b[None], -1), a=(3, 5), b=(4, 5))
alike, some_zeros = torch.tensor([1.0, -1, -1, 1]), torch.tensor([[1.0], [1], [1], [0]])
case("embedding_losses", lambda x, y, z: F.triplet_margin_loss(x, y, z) + 2 * F.triplet_margin_loss(x, x, z, margin=5) +
     3 * F.cosine_embedding_loss(x, y, alike) + 4 * F.cosine_embedding_loss(z, y, alike, margin=-0.9) +
     5 * F.cosine_embedding_loss(x * some_zeros, z, alike), x=(4, 6), y=(4, 6), z=(4, 6))
scores = filled("scores", (24, 5))
line("top_k_accuracies", torch.stack([(scores.topk(k).indices == classes[:, None]).any(-1).double().mean()
                                      for k in (1, 2, 3, 5)]))
line("confusion_matrix", torch.bincount(5 * classes + scores.argmax(-1), minlength=25))

case("linear_cross_entropies", lambda x, row, weight: cross_entropy(x @ weight.T, classes) +
     2 * cross_entropy(x @ weight.T, classes, label_smoothing=0.1) +
     3 * cross_entropy(x @ weight.T, classes, weight=by_class, ignore_index=4) +
     4 * cross_entropy(x @ weight.T, classes, row.square()), x=(2, 3, 4, 6), row=(2, 3, 4), **{"head.weight": (5, 6)})


def channels_last(function):
    """Returns the function of images {N, H, W, C} or of rows {N, L, C} for one of PyTorch's functions, which have
    channels second."""
    def moved(x, *others):
        return function(x.movedim(-1, 1), *others).movedim(1, -1)
    return moved


case("conv2d", channels_last(lambda x, w: F.conv2d(x, w, padding=1)), x=(2, 5, 6, 3), w=(4, 3, 3, 3))
case("conv2d_stride", channels_last(lambda x, w: F.conv2d(x, w, stride=2, padding=2, dilation=2)), x=(2, 7, 8, 3),
     w=(4, 3, 3, 2))
case("conv2d_groups", channels_last(lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2)), x=(2, 7, 6, 4),
     w=(6, 2, 3, 3))
case("conv2d_depthwise", channels_last(lambda x, w: F.conv2d(x, w, padding=1, groups=5)), x=(2, 4, 6, 5),
     w=(5, 1, 3, 3))
case("conv2d_multiplier", channels_last(lambda x, w: F.conv2d(x, w, groups=3)), x=(1, 4, 5, 3), w=(6, 1, 2, 3))
case("conv2d_one_to_one", channels_last(lambda x, w: F.conv2d(x, w, padding=1)), x=(2, 4, 5, 1), w=(1, 1, 3, 3))
case("conv2d_1x1", channels_last(F.conv2d), x=(2, 3, 4, 5), w=(6, 5, 1, 1))
case("conv1d", channels_last(lambda x, w: F.conv1d(x, w, stride=2, padding=1, groups=2)), x=(2, 9, 4), w=(6, 2, 3))
case("conv2d_pairs", channels_last(lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(0, 3), dilation=(1, 2))),
     x=(2, 5, 6, 3), w=(4, 3, 2, 3))
case("conv_transpose2d_pairs", channels_last(lambda x, w: F.conv_transpose2d(x, w, stride=(1, 3), padding=(1, 0))),
     x=(2, 4, 3, 4), w=(4, 2, 3, 2))
case("conv2d_same", channels_last(lambda x, w: F.conv2d(x, w, padding="same", dilation=(3, 1))), x=(2, 5, 6, 3),
     w=(4, 3, 2, 4))
case("conv1d_same", channels_last(lambda x, w: F.conv1d(x, w, padding="same", groups=2)), x=(2, 7, 4), w=(6, 2, 4))
case("conv_transpose2d_more", channels_last(lambda x, w: F.conv_transpose2d(
    x, w, stride=(3, 1), padding=1, output_padding=2, dilation=(1, 3))), x=(2, 4, 3, 6), w=(6, 4, 3, 2))
case("conv_transpose1d", channels_last(lambda x, w: F.conv_transpose1d(
    x, w, stride=3, padding=1, output_padding=2, groups=2)), x=(2, 5, 4), w=(4, 3, 4))
case("conv_transpose2d", channels_last(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1)), x=(2, 4, 3, 6),
     w=(6, 4, 3, 3))
case("conv_transpose2d_groups", channels_last(lambda x, w: F.conv_transpose2d(x, w, stride=3, groups=3, dilation=2)),
     x=(1, 3, 2, 6), w=(6, 2, 2, 2))
case("batch_norm", channels_last(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
     **{"x": (2, 3, 2, 4), "bn.weight": (4,), "bn.bias": (4,)})
case("batch_norm_eps", channels_last(lambda x, w, b: F.batch_norm(x * 0.01, None, None, w, b, training=True, eps=1e-3)),
     **{"x": (2, 3, 2, 4), "bn.weight": (4,), "bn.bias": (4,)})
case("layer_norm", lambda x, w, b: F.layer_norm(x, (5,), w, b), **{"x": (2, 3, 5), "ln.weight": (5,), "ln.bias": (5,)})
case("layer_norm_eps", lambda x, w, b: F.layer_norm(x * 0.01, (5,), w, b, 1e-3),
     **{"x": (2, 3, 5), "ln.weight": (5,), "ln.bias": (5,)})
case("layer_norm_far", lambda x, w, b: F.layer_norm((x + 100) * 0.01, (17,), w, b),
     **{"x": (3, 17), "ln.weight": (17,), "ln.bias": (17,)})
case("layer_norm_constant", lambda x, w, b: F.layer_norm(x * torch.tensor([[0.0], [1], [0]]) + 3, (17,), w, b),
     **{"x": (3, 17), "ln.weight": (17,), "ln.bias": (17,)})
case("layer_norm_second", lambda x, w: torch.autograd.grad(F.layer_norm(x, (5,), w, w).square().sum(), x,
                                                           create_graph=True)[0],
     **{"x": (2, 3, 5), "ln.weight": (5,)})
case("rms_norm", lambda x, w: F.rms_norm(x, (5,), w), **{"x": (2, 3, 5), "rms.weight": (5,)})
case("rms_norm_zero", lambda x, w: F.rms_norm(x * torch.tensor([[1.0], [0], [1]]), (5,), w),
     **{"x": (2, 3, 5), "rms.weight": (5,)})
case("rms_norm_eps", lambda x, w: F.rms_norm(x * 0.01, (5,), w, 1e-3), **{"x": (2, 3, 5), "rms.weight": (5,)})
case("group_norm", channels_last(lambda x, w, b: F.group_norm(x, 2, w, b)),
     **{"x": (2, 3, 2, 6), "gn.weight": (6,), "gn.bias": (6,)})
case("group_norm_eps", channels_last(lambda x, w, b: F.group_norm(x * 0.01, 3, w, b, 1e-3)),
     **{"x": (2, 3, 2, 6), "gn.weight": (6,), "gn.bias": (6,)})
case("batch_norm_without_affine", channels_last(lambda x: F.batch_norm(x, None, None, training=True)), x=(2, 3, 2, 4))
case("rms_norm_without_affine", lambda x: F.rms_norm(x, (5,)) * F.rms_norm(0.01 * x.square(), (5,), eps=1e-3),
     x=(2, 3, 5))
case("layer_norm_without_affine", lambda x: F.layer_norm(x * 0.01, (5,), eps=1e-3), x=(2, 3, 5))
case("group_norm_without_affine", channels_last(lambda x: F.group_norm(x, 2)), x=(2, 3, 2, 6))
case("instance_norm", channels_last(lambda x: F.instance_norm(x)), x=(2, 3, 2, 6))
case("instance_norm_affine", channels_last(lambda x, w, b: F.instance_norm(x * 0.01, weight=w, bias=b, eps=1e-3)),
     **{"x": (2, 5, 6), "in.weight": (6,), "in.bias": (6,)})
case("flatten", lambda x, w: F.linear(x.movedim(-1, 1).flatten(1), w),
     **{"x": (2, 3, 2, 4), "fc.weight": (3, 24)})
case("max_pool2d", channels_last(lambda x: F.max_pool2d(x, 2)), x=(2, 5, 6, 3))
case("max_pool2d_ties", channels_last(lambda x: F.max_pool2d(F.relu(x), 3, 2, 1)),
     x=(2, 5, 6, 3))
case("max_pool2d_pairs", channels_last(lambda x: F.max_pool2d(x, (1, 3), (2, 1), (0, 1))), x=(2, 5, 6, 3))
case("avg_pool2d_pairs", channels_last(lambda x: F.avg_pool2d(x, (3, 2), (1, 2), (1, 0))), x=(2, 5, 6, 3))
case("max_pool2d_ceil", channels_last(lambda x: F.max_pool2d(F.relu(x), 2, (1, 2), (1, 0), (2, 1), ceil_mode=True)),
     x=(2, 5, 7, 3))
case("avg_pool2d_ceil", channels_last(lambda x: F.avg_pool2d(x, 3, (2, 3), 1, ceil_mode=True)), x=(2, 6, 6, 3))
case("avg_pool2d_without_padding", channels_last(lambda x: F.avg_pool2d(x, (3, 2), 2, 1, True, False)), x=(2, 6, 5, 3))
case("avg_pool2d", channels_last(lambda x: F.avg_pool2d(x, 3, 2, 1)), x=(2, 5, 6, 3))
case("global_average", lambda x: F.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 1).flatten(1), x=(2, 5, 6, 3))
case("upsample2d", channels_last(lambda x: F.interpolate(x, scale_factor=2, mode="nearest")), x=(2, 5, 6, 3))
for size in ((3, 4), (1, 6), (7, 1), (8, 9)):
    case(f"adaptive_avg_pool2d_{size[0]}", channels_last(lambda x, s=size: F.adaptive_avg_pool2d(x, s)), x=(2, 5, 6, 3))
    case(f"adaptive_max_pool2d_{size[0]}", channels_last(lambda one, same, s=size: F.adaptive_max_pool2d(
        (3 * one).floor() + one - same.movedim(-1, 1), s)), ab=(2, 5, 6, 3), ba=(2, 5, 6, 3))
for corners in (False, True):
    case(f"interpolate_{corners}", channels_last(lambda x, y, c=corners: F.interpolate(
        x, (8, 4), mode="bilinear", align_corners=c) * F.interpolate(y.movedim(-1, 1), (8, 4), mode="bilinear",
                                                                     align_corners=c)), x=(2, 5, 6, 3), y=(2, 1, 9, 3))
    case(f"upsample2d_{corners}", channels_last(lambda x, c=corners: F.interpolate(
        x, scale_factor=3, mode="bilinear", align_corners=c)), x=(2, 5, 6, 3))


tokens = torch.arange(8).square().remainder(7).reshape(2, 4)


def slope_of_embedding(weight, by):
    """Returns a gradient of the table. The gradients of this gradient leave out the padding as well."""
    rows = F.embedding(tokens, weight, padding_idx=1)
    return torch.autograd.grad((rows ** 3 * by).sum(), weight, create_graph=True)[0]


def tied(weight, positions, bias):
    """Returns the result of a head that shares the weights of an embedding."""
    return F.linear(torch.tanh(F.embedding(tokens, weight) + F.embedding(torch.arange(4), positions)), weight, bias)


def rotary(x, positions, base=10000.0):
    """Computes transformers' apply_rotary_pos_emb for {N, T, H, D} and positions {T} or {N, T}."""
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * base ** (-torch.arange(half) / half)
    cos, sin = (torch.cat((wave, wave), -1).unsqueeze(-2) for wave in (angles.cos(), angles.sin()))
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def sinusoidal(x):
    """Computes the PositionalEncoding of PyTorch's tutorials."""
    features = x.shape[-1]
    angles = torch.arange(x.shape[-2]).unsqueeze(1) * torch.exp(torch.arange(0, features, 2) * (-torch.log(
        torch.tensor(10000.0)) / features))
    return x * torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :features]


case("embedding", lambda weight: F.embedding(tokens, weight, padding_idx=1), **{"wte.weight": (7, 5)})
case("embedding_second", slope_of_embedding, **{"wte.weight": (7, 5), "by": (2, 4, 5)})
case("tied_linear", tied, **{"wte.weight": (7, 5), "wpe.weight": (4, 5), "bias": (7,)})


def placed(table, row, rows):
    """Places a row at an index, and assigns to a slice as PyTorch's users do."""
    first = torch.index_copy(table.square(), 0, torch.tensor([5]), row)
    second = table.clone()
    second[:, 2:4] = rows * rows
    return first * second


def slope_of_placed(table, row):
    """Returns the gradient of a row that is placed."""
    laid = torch.index_copy(table, 0, torch.tensor([5]), row)
    return torch.autograd.grad((laid ** 3 * table).sum(), row, create_graph=True)[0]


case("placed", placed, **{"table": (7, 5), "row": (1, 5), "rows": (7, 2)})
case("placed_second", slope_of_placed, **{"table": (7, 5), "row": (1, 5)})
case("rotary", lambda x: rotary(x, torch.arange(5.0)), x=(2, 5, 3, 6))
case("rotary_at", lambda x: rotary(x, tokens, 500.0), x=(2, 4, 1, 8))
case("sinusoidal", lambda x: sinusoidal(x), x=(2, 4, 7))

def attention(q, k, v, mask=None, causal=False):
    """Returns the attention of {N, T, H, D}. PyTorch has the heads second."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)


looks = torch.arange(6 * 7).remainder(5).reshape(6, 7) > 0
case("attention", attention, q=(2, 6, 4, 5), k=(2, 7, 4, 5), v=(2, 7, 4, 5))
case("attention_causal", lambda q, k, v: attention(3 * q, k, v, causal=True), q=(2, 6, 4, 5), k=(2, 7, 4, 5), v=(2, 7, 4, 3))
case("attention_masked", lambda q, k, v: attention(q, k, v, looks), q=(2, 6, 4, 5), k=(2, 7, 4, 5), v=(2, 7, 4, 5))
some = looks & (torch.arange(6) != 2).unsqueeze(-1)
case("attention_row_hidden", lambda q, k, v: attention(q, k, v, some), q=(1, 6, 1, 3), k=(1, 7, 1, 3), v=(1, 7, 1, 2))
case("attention_long", lambda q, k, v: attention(3 * q, k, v, causal=True), q=(1, 130, 1, 2), k=(1, 130, 1, 2), v=(1, 130, 1, 1))
case("attention_added", attention, q=(2, 6, 4, 5), k=(2, 7, 4, 5), v=(2, 7, 4, 5), mask=(4, 1, 7))
case("attention_grouped", lambda q, k, v: attention(q, k, v, causal=True), q=(2, 6, 4, 5), k=(2, 6, 2, 5), v=(2, 6, 2, 5))


def module(name, made, call, prefix="", **shapes):
    """Writes a module, and its gradients with respect to inputs of these shapes and to its parameters. Parameters have
    the names of the state dict."""
    leaves = {leaf: filled(leaf, shape).requires_grad_() for leaf, shape in shapes.items()}
    with torch.no_grad():
        for leaf, tensor in (*made.named_parameters(), *made.named_buffers()):
            tensor.copy_(filled(prefix + leaf, tensor.shape))
    y = call(made, *leaves.values())
    y.backward(filled("cotangent", y.shape))
    line(name, y)
    for leaf, tensor in [*leaves.items(), *((prefix + leaf, p) for leaf, p in made.named_parameters())]:
        line(f"{name}.{leaf}", tensor.grad)


for name, normed, shape in (("linear", nn.Linear(5, 4), (2, 3, 5)), ("conv2d", nn.Conv2d(4, 6, 3, groups=2), (2, 5, 4, 4))):
    module(f"weight_norm_{name}", nn.utils.parametrizations.weight_norm(normed),
           lambda f, x: channels_last(f)(x) if x.dim() == 4 else f(x),
           prefix="fc.", x=shape)
module("spectral_norm_second", nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)),
       lambda f, x: torch.autograd.grad(f(x).square().sum(), f.parametrizations.weight.original, create_graph=True)[0],
       prefix="fc.", x=(3, 5))
hidden = torch.ones(5, 5).triu(1).bool()
module("self_attention", nn.MultiheadAttention(8, 2, batch_first=True),
       lambda f, x: f(x, x, x, attn_mask=hidden, need_weights=False)[0], prefix="attn.", x=(2, 5, 8))
module("cross_attention", nn.MultiheadAttention(8, 2, batch_first=True),
       lambda f, x, m: f(x, m, m, need_weights=False)[0], prefix="attn.", x=(2, 5, 8), memory=(2, 4, 8))
module("cross_attention_other", nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True),
       lambda f, x, m: f(x, m, m, need_weights=False)[0], prefix="attn.", x=(2, 5, 8), memory=(2, 4, 6))
padding = torch.tensor([[False, False, True, False], [True, False, False, True]])
module("cross_attention_masked", nn.MultiheadAttention(8, 2, batch_first=True),
       lambda f, x, m: f(x, m, m, key_padding_mask=padding, need_weights=False)[0], prefix="attn.", x=(2, 5, 8), memory=(2, 4, 8))
for norm_first in (False, True):
    module(f"encoder_norm_first_{norm_first}", nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0, activation="gelu" if norm_first else "relu", batch_first=True, norm_first=norm_first),
           lambda f, x: f(x, src_mask=hidden if f.norm_first else None), x=(2, 5, 8))
case("swiglu", lambda x, w1, w3, w2: F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2),
     **{"x": (2, 3, 4), "ff.w1.weight": (6, 4), "ff.w3.weight": (6, 4), "ff.w2.weight": (4, 6)})
# Linear.forward of PEFT 0.17, in lora/layer.py, with r = 2 and lora_alpha = 16. The base is not trained.
case("lora", lambda x, a, b: F.linear(x, filled("q.base_layer.weight", (5, 4)), filled("q.base_layer.bias", (5,))) +
     F.linear(F.linear(x, a), b) * (16 / 2),
     **{"x": (2, 3, 4), "q.lora_A.default.weight": (2, 4), "q.lora_B.default.weight": (5, 2)})


def other_places(x):
    a, b, c = x.chunk(3, -1)
    return torch.stack((F.pad(a, (0, 0, 1, 2)), F.pad(b, (0, 0, 3, 0)).flip(0, 1), F.pad(c * c, (0, 0, 0, 3))), 1)


case("other_places", other_places, x=(4, 6))


def net(name, module, x, steps=0):
    """Writes a whole network of images {N, H, W, C}. Parameters have the names of its state dict. After `steps`
    training steps, which also change the images, writes its running statistics and its predictions."""
    images = filled("x", x).requires_grad_()
    for leaf, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            start = filled(leaf, tensor.shape)
            tensor.copy_(start.abs() if leaf.endswith("running_var") else start)

    def step():
        y = module(images.movedim(-1, 1)).movedim(1, -1)
        y.backward(filled("cotangent", y.shape))
        return y

    line(name, step())
    for parameter, tensor in [("x", images), *module.named_parameters()]:
        line(f"{name}.{parameter}", tensor.grad)
    descent = torch.optim.SGD([images, *module.parameters()], lr=0.01, momentum=0.9)
    for _ in range(steps):
        descent.step()
        descent.zero_grad()
        step()
    if steps == 0:
        return
    for leaf, tensor in module.named_buffers():
        if tensor.is_floating_point():
            line(f"{name}.trained.{leaf}", tensor)
    line(f"{name}.predicted", module.eval()(images.movedim(-1, 1)).movedim(1, -1))


def conv(read, made, extent, stride=1):
    return nn.Conv2d(read, made, extent, stride, extent // 2, bias=False)


class DenseLayer(nn.Module):
    def __init__(self, read):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(read), conv(read, 6, 1)
        self.norm2, self.conv2 = nn.BatchNorm2d(6), conv(6, 3, 3)

    def forward(self, made):
        x = self.conv1(F.relu(self.norm1(torch.cat(made, 1))))
        return [*made, self.conv2(F.relu(self.norm2(x)))]


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = conv(2, 4, 3)
        self.denseblock1 = nn.ModuleDict({"denselayer1": DenseLayer(4), "denselayer2": DenseLayer(7)})
        self.transition1 = nn.ModuleDict({"norm": nn.BatchNorm2d(10), "conv": conv(10, 5, 1)})
        self.denseblock2 = nn.ModuleDict({"denselayer1": DenseLayer(5), "denselayer2": DenseLayer(8)})
        self.norm5, self.classifier = nn.BatchNorm2d(11), nn.Linear(11, 3)

    def forward(self, x):
        made = [self.conv0(x)]
        for layer in self.denseblock1.values():
            made = layer(made)
        made = [F.avg_pool2d(self.transition1["conv"](F.relu(self.transition1["norm"](torch.cat(made, 1)))), 2)]
        for layer in self.denseblock2.values():
            made = layer(made)
        return self.classifier(F.relu(self.norm5(torch.cat(made, 1))).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, read, made, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(read, made, 3, stride), nn.BatchNorm2d(made)
        self.conv2, self.bn2 = conv(made, made, 3), nn.BatchNorm2d(made)
        if read != made:
            self.downsample = nn.Sequential(nn.Conv2d(read, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x):
        shortcut = self.downsample(x) if hasattr(self, "downsample") else x
        return F.relu(shortcut + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = conv(2, 4, 3), nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 6, 2), Block(6, 6, 1))
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


class Pair(nn.Module):
    def __init__(self, read, made):
        super().__init__()
        self.conv1, self.bn1 = conv(read, made, 3), nn.BatchNorm2d(made)
        self.conv2, self.bn2 = conv(made, made, 3), nn.BatchNorm2d(made)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.bottom = Pair(2, 3), Pair(3, 5)
        self.up, self.join = nn.ConvTranspose2d(5, 3, 2, 2), Pair(6, 3)
        self.out = nn.Conv2d(3, 2, 1)

    def forward(self, x):
        whole = self.down(x)
        return self.out(self.join(torch.cat((self.up(self.bottom(F.max_pool2d(whole, 2))), whole), 1)))


def recurrent(name, module, x, states, scale=1):
    """Writes a recurrent layer on {N, T, C} or a cell. It is called `n` in the state dict, and all of its results are
    joined. `states` is the number of states, which are {layers, N, H}, {2 layers, N, H} or, for a cell, {N, H}."""
    batch, cell = x[0], isinstance(module, nn.RNNCellBase)
    layers = () if cell else (module.num_layers * (2 if module.bidirectional else 1),)
    shape = *layers, batch, module.hidden_size
    leaves = {"x": filled("x", x).requires_grad_(),
              **{leaf: filled(leaf, shape).requires_grad_() for leaf in ("h", "c")[:states]}}
    for leaf, tensor in module.named_parameters("n"):
        tensor.data.copy_(filled(leaf, tensor.shape))
    begin = tuple(leaves.values())[1:]
    made = module(scale * leaves["x"], begin if states == 2 else begin[0] if states else None)
    flat = []
    for one in made if isinstance(made, tuple) else (made,):
        flat += one if isinstance(one, tuple) else (one,)
    y = torch.cat([tensor.reshape(-1) for tensor in (flat if states else flat[:1])])
    y.backward(filled("cotangent", y.shape))
    line(name, y)
    for leaf, tensor in (*leaves.items(), *module.named_parameters("n")):
        line(f"{name}.{leaf}", tensor.grad)


for kind, states in ("RNN", 1), ("GRU", 1), ("LSTM", 2):
    layer, cell = getattr(nn, kind), getattr(nn, kind + "Cell")
    recurrent(kind.lower(), layer(3, 5, batch_first=True), (2, 4, 3), states)
    recurrent(f"{kind.lower()}_layers", layer(3, 5, 2, batch_first=True), (2, 3, 3), states)
    recurrent(f"{kind.lower()}_bidirectional", layer(3, 4, 2, batch_first=True, bidirectional=True), (2, 3, 3), states)
    recurrent(f"{kind.lower()}_once", layer(2, 3, batch_first=True), (1, 1, 2), 0)
    recurrent(f"{kind.lower()}_saturated", layer(3, 5, batch_first=True), (2, 3, 3), 0, 1e6)
    recurrent(f"{kind.lower()}_cell", cell(3, 5), (2, 3), states)
net("densenet", DenseNet(), (2, 6, 4, 2))
net("resnet", ResNet(), (2, 8, 6, 2), steps=3)
net("batch_norm_net", nn.Sequential(OrderedDict(bn=nn.BatchNorm2d(3, affine=False), conv=conv(3, 2, 1))), (2, 4, 2, 3),
    steps=2)
net("spectral_norm_net", nn.Sequential(OrderedDict(fc=nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 2)))),
    (2, 4, 3, 3), steps=3)
net("unet", UNet(), (2, 4, 6, 2))


def rule(name, make, *shape):
    """Writes a parameter after ten steps of an optimizer, with gradients that a formula computes."""
    weight = nn.Parameter(filled("w", shape))
    optimizer = make([weight])
    for step in range(10):
        weight.grad = filled(f"g{step}", shape)
        optimizer.step()
    line(name, weight)


rule("rmsprop", torch.optim.RMSprop, 3, 5)
rule("rmsprop_with_momentum", lambda all: torch.optim.RMSprop(all, alpha=0.9, eps=1e-3, momentum=0.5, weight_decay=0.1),
     3, 5)
rule("rmsprop_centered", lambda all: torch.optim.RMSprop(all, alpha=0.9, momentum=0.5, centered=True), 3, 5)


def rates(name, make, results=None):
    """Writes the learning rates of 20 steps, or the rates after each of some results."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler, all = make(optimizer), []
    for result in [None] * 20 if results is None else results:
        if results is None:
            all.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if results is not None:
            scheduler.step(result)
            all.append(optimizer.param_groups[0]["lr"])
        elif len(all) < getattr(scheduler, "total_steps", 20):  # a OneCycleLR has no later steps
            scheduler.step()
    line(name, torch.tensor(all))


schedulers = torch.optim.lr_scheduler
rates("linear_rate", lambda of: schedulers.LinearLR(of, start_factor=1, end_factor=0.1, total_iters=12))
rates("one_cycle", lambda of: schedulers.OneCycleLR(of, max_lr=0.5, total_steps=20, cycle_momentum=False))
rates("one_cycle_of_19", lambda of: schedulers.OneCycleLR(
    of, max_lr=0.5, total_steps=19, pct_start=0.4, div_factor=5, final_div_factor=10, cycle_momentum=False))
results = [float((8 * x.abs()).round() / 4 - 1) for x in filled("results", (40,))]
rates("plateau", lambda of: schedulers.ReduceLROnPlateau(of, factor=0.5, patience=3), results)
rates("plateau_highest", lambda of: schedulers.ReduceLROnPlateau(
    of, mode="max", factor=0.25, patience=2, threshold=0.1, cooldown=3, min_lr=0.01), results)
rates("plateau_absolute", lambda of: schedulers.ReduceLROnPlateau(
    of, factor=0.5, patience=0, threshold=0.25, threshold_mode="abs", cooldown=2), results)


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of You et al., Large batch optimization for deep learning (2020). PyTorch has no LAMB."""

    def __init__(self, all, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(all, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))
        self.steps, self.mean, self.square = 0, 0, 0

    def step(self):
        (group,) = self.param_groups
        (weight,), (beta1, beta2) = group["params"], group["betas"]
        self.steps += 1
        self.mean = beta1 * self.mean + (1 - beta1) * weight.grad
        self.square = beta2 * self.square + (1 - beta2) * weight.grad.square()
        mean, square = self.mean / (1 - beta1 ** self.steps), self.square / (1 - beta2 ** self.steps)
        direction = mean / (square.sqrt() + group["eps"]) + group["weight_decay"] * weight.data
        length, of_step = weight.data.norm(), direction.norm()
        ratio = length / of_step if length > 0 and of_step > 0 else 1
        weight.data -= group["lr"] * ratio * direction


rule("lamb", Lamb, 3, 5)
rule("lamb_with_options", lambda all: Lamb(all, lr=0.1, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.5), 2, 3, 4)

# Muon rounds its products to bf16. Here it computes them in double.
with mock.patch.object(torch, "bfloat16", torch.float64):
    rule("muon", torch.optim.Muon, 3, 5)
    rule("muon_of_columns", lambda all: torch.optim.Muon(all, lr=0.1, weight_decay=0, momentum=0.5, nesterov=False),
         7, 4)

rule("adafactor", lambda all: torch.optim.Adafactor(all, eps=(2 ** -23, 1e-3)), 3, 5)
rule("adafactor_with_options",
     lambda all: torch.optim.Adafactor(all, lr=0.5, eps=(2 ** -23, 0.5), d=2, weight_decay=0.1),
     2, 3, 4)
rule("adafactor_of_vectors", lambda all: torch.optim.Adafactor(all, beta2_decay=-0.5, eps=(2 ** -23, 1e-3)), 7)
