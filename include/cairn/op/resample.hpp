// Resampling: an axis gets another number of elements, each of which is a weighted sum of neighbouring elements.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/lang/apply.hpp"

namespace cairn::nn {

/// How an image is made larger or smaller. Along each axis, a pixel of the result lies between two pixels of the image,
/// and is the mean of both with weights by distance.
/// - `bilinear`: the outer edges of both images coincide, as with align_corners=False in PyTorch.
/// - `bilinear_corners`: the centers of the pixels in the corners coincide, as with align_corners=True.
enum class interpolation : std::uint8_t { bilinear, bilinear_corners };
using enum interpolation;

}  // namespace cairn::nn

namespace cairn::lang {

enum class resampling_law : std::uint8_t {
  window_mean,    ///< element i is the mean of the elements that its share of the axis touches
  linear,         ///< as nn::interpolation::bilinear
  linear_corners  ///< as nn::interpolation::bilinear_corners
};

/// Computes `to` elements along an axis from `from` elements. Element i of the result is a weighted sum of neighbouring
/// elements. All positions are computed in whole numbers.
struct resampling {
  resampling_law law;
  std::int64_t from, to;

  /// Returns the elements of which element i of the result is the sum.
  constexpr costs::range sources(std::int64_t i) const {
    if (law == resampling_law::window_mean) return {i * from / to, rounded_up((i + 1) * from, to)};
    const std::int64_t below = numerator(i) / denominator();
    return {below, std::min(below + 2, from)};
  }
  /// Returns the elements of the result that element j is added to.
  constexpr costs::range results(std::int64_t j) const {
    if (law == resampling_law::window_mean) return {j * to / from, rounded_up((j + 1) * to, from)};
    return {first_between(j - 1), first_between(j + 1)};
  }
  /// Returns the weight of element j, which is among the sources of element i of the result.
  constexpr double weight(std::int64_t i, std::int64_t j) const {
    const costs::range all = sources(i);
    if (law == resampling_law::window_mean) return 1 / static_cast<double>(all.end - all.begin);
    if (all.end - all.begin == 1) return 1;
    const std::int64_t above = numerator(i) - all.begin * denominator();
    const std::int64_t of_weight = j == all.begin ? denominator() - above : above;
    return static_cast<double>(of_weight) * (1 / static_cast<double>(denominator()));
  }
  /// Returns about how many terms all sums along the axis have together.
  constexpr std::int64_t terms() const { return law == resampling_law::window_mean ? from + to : 2 * to; }
  friend constexpr bool operator==(const resampling&, const resampling&) = default;

 private:
  static constexpr std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  /// Element i of the result lies at the position `numerator(i) / denominator()` among the elements.
  constexpr std::int64_t numerator(std::int64_t i) const {
    if (law == resampling_law::linear_corners) return i * (from - 1);
    return std::max<std::int64_t>(0, (2 * i + 1) * from - to);
  }
  constexpr std::int64_t denominator() const {
    if (law == resampling_law::linear_corners) return std::max<std::int64_t>(1, to - 1);
    return 2 * to;
  }
  /// Returns the first element of the result that does not lie before position j.
  constexpr std::int64_t first_between(std::int64_t j) const {
    if (j <= 0) return 0;
    if (law == resampling_law::linear) return std::min(to, rounded_up((2 * j + 1) * to - from, 2 * from));
    return from == 1 ? to : std::min(to, rounded_up(j * denominator(), from - 1));
  }
};

/// Resamples an axis of x. The axis is not the first. If Transposed is true, computes the gradient of x from the
/// gradient of the result.
template <resampling R, int Axis, bool Transposed = false>
struct resample_op : op {
  static constexpr fixed_string name = "resample";
  using rule = misuse::axes_exist;
  static constexpr std::int64_t read = Transposed ? R.to : R.from, made = Transposed ? R.from : R.to;
  static constexpr reading reads(int, const shape&) { return {.numbers = reading::as_stored}; }
  static constexpr making makes(int, int, const shape&) { return {.rounds = true}; }
  static constexpr bool keeps_rows(int, const shape&) { return true; }
  static constexpr shape result(shape x) {
    if (Axis >= x.rank || x.extent[Axis] != read) return no_shape;
    x.extent[Axis] = static_cast<int>(made);
    return x;
  }
  static constexpr std::int64_t flops(const shape& x) { return 2 * R.terms() * (x.count() / x.extent[Axis]); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<resample_op<R, Axis, !Transposed>>(g)); }
};

/// Resamples an axis of x to the given extent.
template <resampling_law Law, int Axis, int Extent, class X>
constexpr auto resampled(X x) {
  if constexpr (X::shape[Axis] == Extent) return x;
  else return make<resample_op<resampling{Law, X::shape[Axis], Extent}, Axis>>(x);
}

}  // namespace cairn::lang
