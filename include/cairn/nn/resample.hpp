// Images of another size: windows that cover an image evenly, and interpolation between pixels.
#pragma once

#include "cairn/nn/pool.hpp"
#include "cairn/op/expand.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/sort.hpp"

namespace cairn {

namespace detail {
/// Returns the mistake of making an image of Height x Width pixels of x, or sound.
template <fixed_string Name, std::int64_t Height, std::int64_t Width, class X>
constexpr auto problem_of_size(X x) {
  if constexpr (wrong<X>) return pass_on<typename X::owner>(x);
  else if constexpr (X::shape.rank == 4 && !cairn::detail::can_be_shape<X::shape[0], Height, Width, X::shape[3]>)
    return mistake<misuse::size_of_image, typename X::owner, fact::operation<Name, tensor_fact<X>>,
                   fact::extents<Height, Width>>{};
  else return problem_of_image<Name>(x);
}
/// The form of functions that change the size of an image to Height x Width pixels.
template <fixed_string Name, lang::resampling_law Law, std::int64_t Height, std::int64_t Width>
struct resized_form : form_of_one<Name> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using problem = decltype(problem_of_size<Name, Height, Width>(x));
    if constexpr (!std::same_as<problem, sound>) return problem{};
    else return lang::resampled<Law, 2, static_cast<int>(Width)>(lang::resampled<Law, 1, static_cast<int>(Height)>(x));
  }
};

/// The positions of To windows that cover From elements evenly. Row i has the positions in window i. A window that is
/// shorter than a row repeats its last position.
template <int From, int To>
struct positions_in_windows {
  static constexpr int longest = static_cast<int>((From + 2 * std::int64_t{To} - 2) / To);

  constexpr int operator()(int i, int j) const {
    const costs::range own = lang::resampling{lang::resampling_law::window_mean, From, To}.sources(i);
    return static_cast<int>(std::min(own.begin + j, own.end - 1));
  }
};
/// Computes the largest element of each of To windows that cover an axis evenly. The windows become rows of an array.
template <int Axis, int To, class X>
constexpr auto largest_along(X x) {
  constexpr int from = X::shape[Axis];
  if constexpr (from == To) {
    return x;
  } else {
    using inside = positions_in_windows<from, To>;
    const typename lang::generated_as<inside, index_below(from), To, inside::longest>::type positions;
    return lang::squeeze<Axis + 1>(lang::topk<1, Axis + 1>(lang::gather<Axis>(x, positions)));
  }
}
/// The form of adaptive_max_pool2d. The width comes first. The gradient then goes to the first of equal elements, row
/// by row.
template <std::int64_t Height, std::int64_t Width, fixed_string Name = "adaptive_max_pool2d">
struct adaptive_max_pool_form : form_of_one<Name> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using problem = decltype(problem_of_size<Name, Height, Width>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return problem{};
    } else {
      constexpr int height = X::shape[1], width = X::shape[2], rows = Height, columns = Width;
      if constexpr (height % rows == 0 && width % columns == 0)
        return max_pool_form<nn::extents{height / rows, width / columns}, nn::window{}>::body(x);
      else return largest_along<1, rows>(largest_along<2, columns>(x));
    }
  }
};
inline constexpr auto law_of(nn::interpolation mode) {
  return mode == nn::bilinear ? lang::resampling_law::linear : lang::resampling_law::linear_corners;
}
template <std::int64_t Height, std::int64_t Width>
using adaptive_pool_form = resized_form<"adaptive_avg_pool2d", lang::resampling_law::window_mean, Height, Width>;
template <std::int64_t Height, std::int64_t Width, nn::interpolation Mode>
using interpolate_form = resized_form<"interpolate2d", law_of(Mode), Height, Width>;

template <int Factor, nn::interpolation Mode>
struct upsample_form<Factor, Mode> : form_of_one<"upsample2d"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using nearest = decltype(upsample_form<Factor>::body(x));
    if constexpr (lang::wrong<nearest>) return nearest{};
    else return interpolate_form<nearest::shape[1], nearest::shape[2], Mode>::body(x);
  }
};
}  // namespace detail

/// Computes the means of Height x Width windows that cover x {N, H, W, C} evenly, as F.adaptive_avg_pool2d does:
/// {N, Height, Width, C}. Window i begins at pixel floor(i H / Height) and ends before pixel ceil((i + 1) H / Height).
/// Rejects: an x that does not have four axes; a height or width that is not from 1 to below 2^31.
template <std::int64_t Height, std::int64_t Width, an_operand X, class... Surplus>
constexpr lang::applied<detail::adaptive_pool_form<Height, Width>, X, Surplus...> adaptive_avg_pool2d(X, Surplus...) {
  return {};
}

/// Computes the largest elements of Height x Width windows that cover x {N, H, W, C} evenly, as F.adaptive_max_pool2d
/// does: {N, Height, Width, C}. The windows lie as in adaptive_avg_pool2d. If several elements of a window are
/// equal, the first one, row by row, gets the gradient. If Height does not divide H, or Width does not divide W, the
/// windows are copied. Rejects what adaptive_avg_pool2d rejects.
template <std::int64_t Height, std::int64_t Width, an_operand X, class... Surplus>
constexpr lang::applied<detail::adaptive_max_pool_form<Height, Width>, X, Surplus...> adaptive_max_pool2d(X,
                                                                                                          Surplus...) {
  return {};
}

/// Changes the size of x {N, H, W, C} to {N, Height, Width, C} by interpolation between pixels, as F.interpolate with
/// mode='bilinear' does: `interpolate2d<32, 48>(x)`. With `nn::bilinear_corners` as the third argument, the corners of
/// both images coincide. Rejects what adaptive_avg_pool2d rejects.
template <std::int64_t Height, std::int64_t Width, nn::interpolation Mode = nn::bilinear, an_operand X,
          class... Surplus>
constexpr lang::applied<detail::interpolate_form<Height, Width, Mode>, X, Surplus...> interpolate2d(X, Surplus...) {
  return {};
}

/// Makes x {N, H, W, C} larger by interpolation between pixels: {N, Factor * H, Factor * W, C}. `upsample2d<2,
/// nn::bilinear>(x)` is `interpolate2d<2 * H, 2 * W>(x)`. Rejects what upsample2d<Factor> rejects.
template <int Factor, nn::interpolation Mode, an_operand X, class... Surplus>
constexpr lang::applied<detail::upsample_form<Factor, Mode>, X, Surplus...> upsample2d(X, Surplus...) {
  return {};
}

namespace nn {
/// The functions of this file as layers: `nn::adaptive_avg_pool2d<7, 7>`.
template <std::int64_t Height, std::int64_t Width>
inline constexpr detail::form_layer<cairn::detail::adaptive_pool_form<Height, Width>> adaptive_avg_pool2d{};
template <std::int64_t Height, std::int64_t Width>
inline constexpr detail::form_layer<cairn::detail::adaptive_max_pool_form<Height, Width>> adaptive_max_pool2d{};
template <std::int64_t Height, std::int64_t Width, interpolation Mode = bilinear>
inline constexpr detail::form_layer<cairn::detail::interpolate_form<Height, Width, Mode>> interpolate2d{};
}  // namespace nn

}  // namespace cairn
