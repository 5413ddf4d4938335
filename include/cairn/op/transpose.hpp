// Transpositions. A transposition moves data, unless a matrix product reads the argument in place.
#pragma once

#include "cairn/lang/apply.hpp"

#include <array>

namespace cairn::lang {

template <auto Permutation, std::size_t... Axis>
fact::axes<Permutation[Axis]...> axes_of_permutation(std::index_sequence<Axis...>);

/// Permutes axes: axis i of the result is axis Permutation[i] of the argument.
template <auto Permutation>
struct transpose_op : op {
  static constexpr fixed_string name = "transpose";
  using rule = misuse::axes_in_new_order;
  using asked = decltype(axes_of_permutation<Permutation>(std::make_index_sequence<Permutation.size()>{}));
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr reading reads(int, const auto&...) {
    return {.numbers = reading::as_stored, .decides_precision = true};
  }
  static constexpr tensor_type result(const tensor_type& from) {
    tensor_type to = from;
    if (from.rank != static_cast<int>(Permutation.size())) return no_shape;
    detail::axis_set seen = 0;
    for (int axis = 0; axis < to.rank; ++axis) {
      const int source = Permutation[static_cast<std::size_t>(axis)];
      if (source < 0 || source >= from.rank) return no_shape;
      seen |= detail::axis_set{1} << source;
      to.extent[axis] = from.extent[source];
    }
    return seen + 1 == detail::axis_set{1} << to.rank ? to : no_shape;
  }
  static constexpr bool keeps_rows(int, const shape&) { return Permutation[0] == 0; }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto inverse = [] {
    auto back = Permutation;
    for (std::size_t axis = 0; axis < Permutation.size(); ++axis) {
      if (Permutation[axis] >= 0 && Permutation[axis] < static_cast<int>(Permutation.size()))
        back[static_cast<std::size_t>(Permutation[axis])] = static_cast<int>(axis);
    }
    return back;
  }();
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<transpose_op<inverse>>(g)); }
};

template <int Rank>
constexpr auto swap_last_two() {
  std::array<int, static_cast<std::size_t>(std::max(Rank, 2))> axes{};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int>(axis);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}
template <int Rank, int... Axes>
constexpr auto permutation() {
  if constexpr (sizeof...(Axes) > 0) return std::array{Axes...};
  else return swap_last_two<Rank>();
}
/// Returns true if each axis is behind the one that is named before it. Such a permutation would change nothing.
template <int... Axes>
constexpr bool ascending() {
  int last = -1;
  return sizeof...(Axes) > 0 && ((Axes > last && (last = Axes, true)) && ...);
}
template <int... Axes>
struct transpose_form : form_of_one<"transpose"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using made = transpose_op<permutation<X::shape.rank, Axes...>()>;
    if constexpr (wrong<X> || !ascending<Axes...>()) return make<made>(x);
    else
      return mistake<misuse::axes_in_new_order, typename X::owner, fact::operation<"transpose", tensor_fact<X>>,
                     typename made::asked>{};
  }
};

/// Permutes axes: `transpose<1, 0, 2>(x)`. Without a list of axes, swaps the last two axes. If the last two axes alone
/// are swapped, a matrix product reads x in place. Rejects axes in their old order. PyTorch's transpose(0, 1) swaps two
/// axes, and transpose<0, 1>(x) would change nothing.
template <int... Axes, an_operand X, class... Surplus>
constexpr applied<transpose_form<Axes...>, X, Surplus...> transpose(X, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::transpose;
}  // namespace cairn
