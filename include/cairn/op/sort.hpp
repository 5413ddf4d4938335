// Sorted elements along an axis, the largest of them, and their positions.
#pragma once

#include "cairn/op/extremum.hpp"
#include "cairn/op/gather_along.hpp"

namespace cairn::lang {

/// Computes the first Count elements of each column in sorted order, and their positions along the axis. Equal elements
/// stay in their own order. NaN is larger than all numbers.
template <int Axis, int Count, bool Descending>
struct sorted_op : op {
  using rule = misuse::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr std::array<tensor_type, 2> result(const tensor_type& x) {
    const int extent = extent_along(x, Axis);
    if (extent < Count) return {no_shape, no_shape};
    const tensor_type some = with_extent(x, Axis, Count);
    return {some, tensor_type{some, index_below(extent)}};
  }
  /// Returns the workspace, in which each thread sorts the positions of a column. A position takes 4 bytes.
  static constexpr workspace scratch(int bytes, const shape& x) {
    return {(4 * std::int64_t{x[Axis]} + bytes - 1) / bytes, parts_of(10 * flops(x), x.count() / x[Axis])};
  }
  static constexpr bool keeps_rows(int, const shape& x) { return axis_bit(x, Axis) % 2 == 0; }
  /// Returns the number of comparisons of a column with all columns: about n log n for a column of n elements.
  static constexpr std::int64_t flops(const shape& x) {
    std::int64_t steps = 1;
    for (int n = extent_along(x, Axis); n > 1; n /= 2) ++steps;
    return x.count() * steps;
  }
  static constexpr auto vjp(auto g, auto, auto at, auto x) {
    const auto zeros = in_type_of<decltype(g)>(make<expand_op<decltype(x)::shape>>(constant<0>));
    return gradients(make<scatter_add_along_op<Axis>>(zeros, at, g));
  }
};
template <int Axis, int Extent, bool Descending>
struct sort_op : sorted_op<Axis, Extent, Descending> {
  static constexpr fixed_string name = "sort";
};
template <int Axis, int K, bool Largest = true>
struct topk_op : sorted_op<Axis, K, Largest> {
  static constexpr fixed_string name = "topk";
};

// Messages show the name of the function that returns the positions.
template <int Axis, int Extent, bool Descending, class X>
inline constexpr auto known_as<pick<1, expr<sort_op<Axis, Extent, Descending>, X>>> = fixed_string{"argsort"};
template <int Axis, int K, bool Largest, class X>
inline constexpr auto known_as<pick<1, expr<topk_op<Axis, K, Largest>, X>>> = fixed_string{"argtopk"};

/// Option that sorts from the largest element to the smallest: `sort<-1>(x, descending)`.
struct descending_t {};
inline constexpr descending_t descending{};
/// Option that takes the smallest elements: `topk<3>(x, smallest)`.
struct smallest_t {};
inline constexpr smallest_t smallest{};

/// The result of a sorting operation that a function returns.
enum class sorted : bool { values, positions };

/// Returns the values or the positions among the two results of a sorting operation, or the mistake in their place.
template <sorted Which, class Results>
constexpr auto one_of_sorted(Results results) {
  if constexpr (wrong<std::tuple_element_t<0, Results>>) return std::get<0>(results);
  else return std::get<static_cast<std::size_t>(Which)>(results);
}

template <fixed_string Name, sorted Which, int... Axes>
struct sort_form : unfit_form<Name> {};
template <fixed_string Name, sorted Which, int Axis>
struct sort_form<Name, Which, Axis> {
  static constexpr fixed_string name = Name;
  using reported = misuse::axes_as_arguments;
  template <class, class... Option>
  static constexpr bool fits = sizeof...(Option) < 2 && (std::same_as<Option, descending_t> && ...);
  template <an_expression X, class... Option>
  static constexpr auto body(X x, Option...) {
    constexpr int extent = std::max(extent_along(X::shape, Axis), 1);
    return one_of_sorted<Which>(make<sort_op<Axis, extent, sizeof...(Option) == 1>>(x));
  }
};

template <int K, int Extent>
struct count_of_largest {
  static constexpr std::array all{setting("k", K, K >= 1 && K <= Extent, "from 1 to the extent of the axis")};
};
template <fixed_string Name, sorted Which, int... Numbers>
struct topk_form : unfit_form<Name> {};
template <fixed_string Name, sorted Which, int K>
struct topk_form<Name, Which, K> : topk_form<Name, Which, K, -1> {};
template <fixed_string Name, sorted Which, int K, int Axis>
struct topk_form<Name, Which, K, Axis> {
  static constexpr fixed_string name = Name;
  using reported = misuse::axes_as_arguments;
  template <class, class... Option>
  static constexpr bool fits = sizeof...(Option) < 2 && (std::same_as<Option, smallest_t> && ...);
  template <an_expression X, class... Option>
  static constexpr auto body(X x, Option...) {
    constexpr int extent = extent_along(X::shape, Axis);
    using what = fact::operation<Name, tensor_fact<X>>;
    using problem = decltype(problem_of_settings<count_of_largest<K, extent>, typename X::owner, fact::in<>, what>());
    if constexpr (wrong<X> || extent == 0) return one_of_sorted<Which>(make<topk_op<Axis, 1>>(x));
    else if constexpr (!std::same_as<problem, sound>) return problem{};
    else return one_of_sorted<Which>(make<topk_op<Axis, K, sizeof...(Option) == 0>>(x));
  }
};

/// Sorts the elements along an axis, as torch.sort(x, stable=True) does: `sort<-1>(x)`, `sort<-1>(x, descending)`.
/// Equal elements stay in their own order. NaN is larger than all numbers. The gradient of each result goes to the
/// element that stands there. Rejects: an axis that does not exist; indices.
template <int... Axes, an_operand X, class... Option>
constexpr applied<sort_form<"sort", sorted::values, Axes...>, X, Option...> sort(X, Option...) {
  return {};
}
/// Computes the positions along the axis of the elements that `sort` returns, as torch.argsort(x, stable=True) does.
/// The results are indices below the extent of the axis. `sort` and `argsort` of the same elements run once.
template <int... Axes, an_operand X, class... Option>
constexpr applied<sort_form<"argsort", sorted::positions, Axes...>, X, Option...> argsort(X, Option...) {
  return {};
}
/// Returns the K largest elements along an axis, from the largest on, as torch.topk does: `topk<3>(x)` along the last
/// axis, `topk<3, 0>(x)` along the first. With the option `smallest`, returns the K smallest elements, from the
/// smallest on: `topk<3>(x, smallest)`. Equal elements stay in their own order. NaN is larger than all numbers. The
/// gradient of each result goes to the element that stands there.
/// Rejects: a K that is not from 1 to the extent of the axis; an axis that does not exist; indices.
template <int... Numbers, an_operand X, class... Option>
constexpr applied<topk_form<"topk", sorted::values, Numbers...>, X, Option...> topk(X, Option...) {
  return {};
}
/// Computes the positions along the axis of the elements that `topk` returns. The results are indices below the extent
/// of the axis. `topk` and `argtopk` of the same elements run once.
template <int... Numbers, an_operand X, class... Option>
constexpr applied<topk_form<"argtopk", sorted::positions, Numbers...>, X, Option...> argtopk(X, Option...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::argsort, lang::argtopk, lang::descending, lang::smallest, lang::sort, lang::topk;
}  // namespace cairn
