// Convolutions of images {N, H, W, C}, which have their channels last.
#pragma once

#include "cairn/cost/convolution.hpp"
#include "cairn/cost/window.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/op/matmul.hpp"

namespace cairn::lang {

/// Base of the three operations of this file. Each operation is linear in each of its arguments. The gradients of one
/// operation are computed by the other two.
struct convolving : op {
  using rule = misuse::filter_of_images;
  static constexpr bool contraction = true;
  static constexpr reading reads(int, const auto&...) { return {.numbers = reading::as_stored}; }
};
/// Base of the two operations that take images and a filter. The filter is rounded to bf16 while it is packed, so no
/// rounded copy of the filter is stored.
struct filtering : convolving {
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_parameter};
  }
  static constexpr bool keeps_rows(int i, const shape&, const shape&) { return i == 0; }
};

/// Computes the gradient of a convolution's images, which have Rows rows and Columns columns. In a forward pass, the
/// operation is a transposed convolution. Its arguments are the gradient of the convolution's result, {N, H', W', O},
/// and the filter, {O, channels of a group, rows, columns}.
template <costs::motion Moves, int Rows, int Columns>
struct convolution_back_op;
/// Computes the gradient of a convolution's filter, which has Rows rows and Columns columns. The arguments are the
/// images and the gradient of the convolution's result.
template <costs::motion Moves, int Rows, int Columns>
struct filter_gradient_op;

/// Convolves images {N, H, W, C} with a filter {O, C / groups, rows, columns}: {N, H', W', O}.
template <costs::motion Moves>
struct convolution_op : filtering {
  static constexpr fixed_string name = "convolution";
  static constexpr costs::correlation of(const shape& x, const shape& w) { return {Moves, x, w, result(x, w)}; }
  static constexpr shape result(const shape& x, const shape& w) {
    if (x.rank != 4 || w.rank != 4 || x[3] != w[1] * Moves.groups || w[0] % Moves.groups != 0) return no_shape;
    return costs::image_shape(x[0], Moves.along(0, w[2]).count(x[1]), Moves.along(1, w[3]).count(x[2]), w[0]);
  }
  static constexpr std::int64_t flops(const shape& x, const shape& w) { return of(x, w).flops(); }
  /// The kernel can read the pieces of concatenated images only if it copies the images anyway.
  static constexpr reading reads(int i, const shape& x, const shape& w) {
    reading out = filtering::reads(i);
    out.in_pieces = i == 0 && of(x, w).copied();
    return out;
  }
  static constexpr making makes(int, int bytes, const shape& x, const shape& w) {
    return {.tiles = tiling_of(costs::cut_of(of(x, w), 0, bytes))};
  }
  static constexpr tiling tiling_of(const costs::sweep_cut& cut) {
    return cut.block_runs < cut.runs || cut.block_length < cut.length ? tiling::summed_in_result : tiling::complete;
  }
  static constexpr workspace scratch(int bytes, const shape& x, const shape& w) {
    return costs::correlation_workspace(of(x, w), bytes);
  }
  template <class G, class Y, class X, class W>
  static constexpr auto vjp(G g, Y, X x, W w) {
    return gradients(make<convolution_back_op<Moves, X::shape[1], X::shape[2]>>(g, w),
                     make<filter_gradient_op<Moves, W::shape[2], W::shape[3]>>(x, g));
  }
};

template <costs::motion Moves, int Rows, int Columns>
struct convolution_back_op : filtering {
  static constexpr fixed_string name = "convolution_back";
  static constexpr costs::correlation of(const shape& g, const shape& w) { return {Moves, g, w, result(g, w), true}; }
  static constexpr shape result(const shape& g, const shape& w) {
    if (g.rank != 4 || w.rank != 4 || g[3] != w[0] || w[0] % Moves.groups != 0) return no_shape;
    const bool fits = Moves.along(0, w[2]).count(Rows) == g[1] && Moves.along(1, w[3]).count(Columns) == g[2];
    return fits ? shape{g[0], Rows, Columns, w[1] * Moves.groups} : no_shape;
  }
  static constexpr std::int64_t flops(const shape& g, const shape& w) { return of(g, w).flops(); }
  static constexpr making makes(int, int bytes, const shape& g, const shape& w) {
    if (of(g, w).sweeps() > 1) return {};
    return {.tiles = convolution_op<Moves>::tiling_of(costs::cut_of(of(g, w), 0, bytes))};
  }
  static constexpr workspace scratch(int bytes, const shape& g, const shape& w) {
    return costs::correlation_workspace(of(g, w), bytes);
  }
  template <class G, class Y, class Image, class W>
  static constexpr auto vjp(G g, Y, Image image, W w) {
    return gradients(make<convolution_op<Moves>>(g, w),
                     make<filter_gradient_op<Moves, W::shape[2], W::shape[3]>>(g, image));
  }
};

template <costs::motion Moves, int Rows, int Columns>
struct filter_gradient_op : convolving {
  static constexpr fixed_string name = "filter_gradient";
  static constexpr costs::correlation of(const shape& x, const shape& g) { return {Moves, x, result(x, g), g}; }
  static constexpr shape result(const shape& x, const shape& g) {
    if (x.rank != 4 || g.rank != 4 || x[3] % Moves.groups != 0 || g[3] % Moves.groups != 0) return no_shape;
    const bool fits =
        Moves.along(0, Rows).count(x[1]) == g[1] && Moves.along(1, Columns).count(x[2]) == g[2] && x[0] == g[0];
    return fits ? shape{g[3], x[3] / Moves.groups, Rows, Columns} : no_shape;
  }
  static constexpr std::int64_t flops(const shape& x, const shape& g) { return of(x, g).flops(); }
  static constexpr workspace scratch(int bytes, const shape& x, const shape& g) {
    return costs::filter_gradient_workspace(of(x, g), bytes);
  }
  static constexpr reading reads(int i, const shape& x, const shape& g) {
    return {.numbers = reading::as_stored, .in_pieces = i == 0 && of(x, g).copied()};
  }
  template <class F, class Y, class X, class G>
  static constexpr auto vjp(F f, Y, X x, G g) {
    return gradients(make<convolution_back_op<Moves, X::shape[1], X::shape[2]>>(g, f),
                     make<convolution_op<Moves>>(x, f));
  }
};

/// Returns the stride of a convolution. A stride of 0 stands for 1.
constexpr nn::extents stride_of(const nn::window& by) {
  const auto length = [](int stride) { return stride == 0 ? 1 : stride; };
  return {length(by.stride.height), length(by.stride.width)};
}
/// Returns the motion of the window `by` over images, with filters {O, C / groups, rows, columns}. With two axes, the
/// window moves along both axes of an image. With one axis, the images are rows: a row counts as an image of height 1,
/// and the window moves along the width alone. A transposed convolution makes images with `output_padding` more pixels
/// at their end. These pixels take the place of padding, so that the number of windows stays the same.
constexpr costs::motion motion_of(const nn::window& by, int axes, const shape& filters) {
  const auto moved = [axes](nn::extents lengths, int else_along_height) {
    return axes == 2 ? lengths : nn::extents{else_along_height, lengths.width};
  };
  costs::motion out{moved(stride_of(by), 1), moved(by.padding, 0), moved(by.dilation, 1), by.groups,
                    moved({-by.output_padding.height, -by.output_padding.width}, 0)};
  if (by.padding == nn::same) {
    const int rows = out.dilation.height * (filters[2] - 1), columns = out.dilation.width * (filters[3] - 1);
    out.padding = {rows / 2, columns / 2};
    out.more = {rows % 2, columns % 2};
  }
  return out;
}
/// Returns the shape {N, 1, W, C} for rows {N, W, C}. Returns the shape of images unchanged.
constexpr shape as_images(const shape& x) { return x.rank == 4 ? x : shape{x[0], 1, x[1], x[2]}; }
/// Returns the shape {O, C, 1, columns} for filters {O, C, columns}. Returns the shape of filters of images unchanged.
constexpr shape as_filters(const shape& w) { return w.rank == 4 ? w : shape{w[0], w[1], 1, w[2]}; }

template <class Form, class Rule>
struct with_rule : Form {
  using rule = Rule;
};

/// The form of a convolution with filters in PyTorch's layout. If Transposed is true, the form is a transposed
/// convolution, which computes the gradient of a convolution's images.
template <fixed_string Name, nn::window By, int Axes, bool Transposed>
struct convolution_form : form_of_two<Name> {
  using filters_rule =
      std::conditional_t<Axes == 1,
                         std::conditional_t<Transposed, misuse::transposed_filter_of_rows, misuse::filter_of_rows>,
                         std::conditional_t<Transposed, misuse::transposed_filter, misuse::filter_of_images>>;
  using room_rule = std::conditional_t<Transposed, misuse::some_image_left, misuse::filter_in_image>;
  static constexpr nn::extents stride = stride_of(By), dilation = By.dilation;
  static constexpr nn::extents padding = By.padding == nn::same ? nn::extents{-1} : By.padding;  // messages show -1
  static constexpr int groups = std::max(By.groups, 1);  // clang warns about remainders by 0
  static constexpr bool single = detail::single_numbers<stride, padding, dilation>;
  using asked =
      std::conditional_t<single, fact::stride_pad_dilate_groups<stride.width, padding.width, dilation.width, By.groups>,
                         fact::stride_pad_dilate_groups<stride.height, stride.width, padding.height, padding.width,
                                                        dilation.height, dilation.width, By.groups>>;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  static constexpr int axes = Axes;
  static constexpr costs::motion moves(const shape& w) { return motion_of(By, Axes, w); }
  /// Returns the shape of the filters of a layer that reads `in` channels and makes `out` channels. The second extent
  /// is 0 if the groups do not divide the channels on that side.
  static constexpr shape filters(int in, int out, nn::extents extent) {
    const int first = Transposed ? in : out, second = Transposed ? out : in;
    const int each = second % groups == 0 ? second / groups : 0;
    return Axes == 1 ? shape{first, each, extent.width} : shape{first, each, extent.height, extent.width};
  }

  /// Returns the height (axis 0) or the width (axis 1) of the result.
  static constexpr std::int64_t result_extent(int axis, const shape& x, const shape& w) {
    const costs::window_axis along = moves(w).along(axis, w[2 + axis]);
    return Transposed ? along.pixels(x[1 + axis]) : along.count(x[1 + axis]);
  }
  static constexpr shape result_shape(const shape& x, const shape& w) {
    const bool fits = x[3] == (Transposed ? w[0] : w[1] * groups) && w[0] % groups == 0;
    const int channels = Transposed ? w[1] * groups : w[0];
    return fits ? costs::image_shape(x[0], result_extent(0, x, w), result_extent(1, x, w), channels) : no_shape;
  }
  using rules = std::tuple<sound, misuse::window_of_filter, misuse::window_of_rows, misuse::settings_of_convolution,
                           misuse::same_padding, misuse::output_padding, filters_rule, misuse::groups_divide, room_rule,
                           misuse::extents_of_convolution>;
  /// Returns the index in `rules` of the rule that arguments of these shapes break. Returns 0 if the arguments fit.
  /// Filters have PyTorch's layout. A second extent of 0 means that the filters belong to a layer and that groups do
  /// not divide the channels which the layer makes.
  static constexpr int broken_rule(const shape& x, const shape& w) {
    const auto least = [](nn::extents lengths) { return std::min(lengths.height, lengths.width); };
    const bool same = By.padding == nn::same;
    if (least(stride) < 0 || (!same && least(padding) < 0) || least(dilation) < 1 || By.groups < 1) return 1;
    if (Axes == 1 && !(single && detail::single_numbers<By.output_padding>)) return 2;
    if (By.ceil_mode || !By.count_include_pad) return 3;
    if (same && (Transposed || stride != nn::extents{1})) return 4;
    const auto adds = [](int axis) {
      const int added = By.output_padding[axis];
      return added == 0 || (Transposed && added > 0 && added < std::max(stride[axis], dilation[axis]));
    };
    if (!adds(0) || !adds(1)) return 5;
    if (!w.valid() || x.rank != Axes + 2 || w.rank != Axes + 2) return 6;
    if (x[-1] % groups != 0 || w[0] % groups != 0 || w[1] == 0) return 7;
    if (x[-1] != (Transposed ? w[0] : w[1] * groups)) return 6;
    const shape images = as_images(x), stored = as_filters(w);
    for (int axis = 0; axis < 2; ++axis) {
      const costs::window_axis taps{.extent = stored[2 + axis], .dilation = dilation[axis]};
      if (!detail::is_extent(taps.span())) return 9;
      if (result_extent(axis, images, stored) < 1) return 8;
    }
    return result_shape(images, stored).valid() ? 0 : 9;
  }
  template <an_expression X, an_expression W>
  static constexpr auto body(X x, W w) {
    if constexpr (wrong<X> || wrong<W> || kind_of(X::element.type) != kind::real) {
      return make<convolution_op<costs::motion{}>>(x, w);
    } else if constexpr (constexpr int fault = broken_rule(X::shape, W::shape); fault != 0) {
      using broken_form = with_rule<convolution_form, std::tuple_element_t<fault, rules>>;
      return wrong_shapes<broken_form, owner_of<X, W>, X, W>(std::index_sequence_for<X, W>{});
    } else {
      constexpr shape images = as_images(X::shape), stored = as_filters(W::shape);
      constexpr shape result = result_shape(images, stored);
      constexpr costs::motion by = moves(stored);
      if constexpr (!Transposed && by == costs::motion{} && stored[2] == 1 && stored[3] == 1) {
        return make<matmul_op<false, true>>(x, reshaped<shape{stored[0], stored[1]}>(w));
      } else {
        using op = std::conditional_t<Transposed, convolution_back_op<by, result[1], result[2]>, convolution_op<by>>;
        constexpr shape made = Axes == 2 ? result : shape{result[0], result[2], result[3]};
        return reshaped<made>(make<op>(reshaped<images>(x), reshaped<stored>(w)));
      }
    }
  }
};
template <nn::window By>
using conv2d_form = convolution_form<"conv2d", By, 2, false>;
template <nn::window By>
using conv1d_form = convolution_form<"conv1d", By, 1, false>;
template <nn::window By>
using conv_transpose2d_form = convolution_form<"conv_transpose2d", By, 2, true>;
template <nn::window By>
using conv_transpose1d_form = convolution_form<"conv_transpose1d", By, 1, true>;

/// Convolves images {N, H, W, C} with filters {O, C / groups, rows, columns}: {N, H', W', O}. This is torch.conv2d with
/// channels last: `conv2d<nn::window{.stride = 2, .padding = 1}>(x, w)`.
/// With `.padding = nn::same`, the result has the height and width of the images.
/// Rejects: other ranks; channels that do not fit, or that groups do not divide; filters that are larger than the
/// padded image; a stride or padding below 0; dilation or groups below 1; nn::same with strides; output_padding and
/// settings of pools.
template <nn::window By = nn::window{}, class... A>
  requires some_operands<A...>
constexpr applied<conv2d_form<By>, A...> conv2d(A...) {
  return {};
}
/// Convolves rows {N, L, C} with filters {O, C / groups, extent}: {N, L', O}. Rejects what conv2d rejects.
template <nn::window By = nn::window{}, class... A>
  requires some_operands<A...>
constexpr applied<conv1d_form<By>, A...> conv1d(A...) {
  return {};
}
/// Computes the gradient of conv2d with respect to its images, as torch.conv_transpose2d does. Images are {N, H, W, C},
/// filters are {C, O / groups, rows, columns}, and the result is {N, H', W', O}. The height H' is
/// `(H - 1) stride - 2 padding + dilation (rows - 1) + output_padding + 1`. The width W' is computed from W and columns
/// by the same formula.
/// Rejects: what conv2d rejects; padding that leaves no image; nn::same; output_padding that is not below the stride or
/// the dilation.
template <nn::window By = nn::window{}, class... A>
  requires some_operands<A...>
constexpr applied<conv_transpose2d_form<By>, A...> conv_transpose2d(A...) {
  return {};
}
/// Computes the gradient of conv1d with respect to its rows, as torch.conv_transpose1d does. Rows are {N, L, C}, and
/// filters are {C, O / groups, extent}. The result is {N, L', O}. Rejects what conv_transpose2d rejects.
template <nn::window By = nn::window{}, class... A>
  requires some_operands<A...>
constexpr applied<conv_transpose1d_form<By>, A...> conv_transpose1d(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::conv1d, lang::conv2d, lang::conv_transpose1d, lang::conv_transpose2d;
}  // namespace cairn
