// Constant arrays. Each element is a function of its position, and the fused loop that reads the element computes it.
#pragma once

#include "cairn/lang/leaf.hpp"

#include <limits>

namespace cairn::lang {

/// The leaf of a constant array. F computes an element from its position.
template <class F, element_type E, int... Extents>
struct generated_leaf : leaf<E, Extents...> {
  static constexpr expression_traits traits{};
};

/// The elements of a constant array. Readers read them in place, as they read a slice of another array. The elements
/// are copied for readers that cannot do so.
struct generated_op : op {
  static constexpr fixed_string name = "generated";
  using rule = misuse::equal_shapes;
  static constexpr bool mapped = true, piecewise_constant = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) { return x; }
  static constexpr axis_map map(const shape&, int /*axis*/) { return {}; }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

/// Computes `count` elements of an array with these extents, beginning at `position`.
///
/// The function goes through the array row by row, so that F is called in one place only. The function is never
/// inlined. Otherwise compilers could contract the operations of F with the operations around the call, and another
/// loop would compute other bits.
template <class F, int... Extents>
[[gnu::noinline]] void generate(double* elements, std::int64_t position, int count) {
  constexpr int axes = static_cast<int>(sizeof...(Extents));
  constexpr int extent[]{1, Extents...};
  int at[axes + 1] = {};
  for (int axis = axes; axis > 0; position /= extent[axis--]) at[axis] = static_cast<int>(position % extent[axis]);
  const auto along_row = [&at, &elements]<int... Axis>(std::integer_sequence<int, Axis...>, int begin, int end) {
#pragma GCC unroll 1  // clang would compute four registers at a time, and a fused loop asks for one
    for (int k = begin; k < end; ++k)
      elements[k - begin] = static_cast<double>(F{}((Axis + 1 == axes ? k : at[Axis + 1])...));
  };
  while (count > 0) {
    const int begin = at[axes], end = std::min(begin + count, extent[axes]);
    along_row(std::make_integer_sequence<int, axes>{}, begin, end);
    elements += end - begin;
    count -= end - begin;
    at[axes] = 0;
    for (int axis = axes - 1; axis > 0 && ++at[axis] == extent[axis]; --axis) at[axis] = 0;
  }
}

/// F computes a number from one position for each of these axes, and captures nothing.
template <class F, std::int64_t... Extents>
concept generates = std::is_empty_v<F> && std::is_default_constructible_v<F> && requires(const F& f) {
  { f((static_cast<void>(Extents), 0)...) } -> std::convertible_to<double>;
};

/// The type of a constant array, or of the mistake in it. The mistake is not reported here, because the array may stand
/// in a body. The first expression that uses the array reports the mistake.
template <class F, element_type E, std::int64_t... Extents>
struct generated_as {
  using type = mistake<misuse::function_of_positions, top_scope, fact::extents<Extents...>>;
};
template <class F, element_type E, std::int64_t... Extents>
  requires(!detail::can_be_shape<Extents...>)
struct generated_as<F, E, Extents...>
    : made_if_sound<decltype(problem_of_extents<generated_op::name, Extents...>()), void> {};
template <class F, element_type E, std::int64_t... Extents>
  requires(detail::can_be_shape<Extents...> && generates<F, Extents...>)
struct generated_as<F, E, Extents...> {
  using type = made<generated_op, generated_leaf<F, E, static_cast<int>(Extents)...>>;
};

struct own_position {
  constexpr int operator()(int i) const { return i; }
};
struct always_zero {
  constexpr double operator()(auto...) const { return 0; }
};
struct allowed_until_here {
  constexpr double operator()(int i, int j) const { return j <= i ? 0 : -std::numeric_limits<double>::infinity(); }
};

/// A constant array of real numbers with the element f(i, j, ...) at each position:
/// `generated<8, 8>([](int i, int j) { return i == j; })`. The array is never bound and never stored. Rejects functions
/// that capture something, and functions that do not return a number.
template <std::int64_t... Extents, class F>
constexpr typename generated_as<F, element_type{}, Extents...>::type generated(F) {
  return {};
}

/// An array of zeros, as torch.zeros.
template <std::int64_t... Extents>
inline constexpr typename generated_as<always_zero, element_type{}, Extents...>::type zeros{};

/// The indices 0, 1, ..., N - 1, as torch.arange. To compute with them, write `as_real(arange<8>)`.
template <std::int64_t N>
inline constexpr typename generated_as<own_position, index_below(static_cast<int>(N)), N>::type arange{};

/// A mask {N, N} that is added to scores {..., N, N} before their softmax, so that row i reads only the columns 0 to i.
/// The mask is 0 in these columns and minus infinity in the columns behind them, as
/// torch.nn.Transformer.generate_square_subsequent_mask.
template <std::int64_t N>
inline constexpr typename generated_as<allowed_until_here, element_type{}, N, N>::type causal_mask{};

}  // namespace cairn::lang

namespace cairn {
using lang::arange, lang::causal_mask, lang::generated, lang::zeros;
}  // namespace cairn
