// Waves of positions (sines and cosines), and rotary embeddings: pairs of features that are rotated by these waves.
#pragma once

#include "cairn/lang/generated.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Computes the waves of positions p {...}, which are whole numbers. The result is {..., Columns}. The angle number j
/// is p / Base^(2 j / Columns). If Halves is true, the cosines of all angles come first and the sines of all angles
/// follow. If Halves is false, the sine and the cosine of each angle lie side by side. The waves are computed in
/// double.
template <int Columns, double Base, bool Halves>
struct waves_op : op {
  static constexpr fixed_string name = "waves";
  static constexpr bool piecewise_constant = true;
  static constexpr kind argument_kind(int) { return kind::whole; }
  static constexpr shape result(shape positions) {
    if (positions.rank == max_rank) return no_shape;
    positions.extent[positions.rank++] = Columns;
    return positions;
  }
  static constexpr bool keeps_rows(int, const shape& positions) { return positions.rank > 0; }
  static constexpr std::int64_t flops(const shape& positions) { return 20 * Columns * positions.count(); }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

/// Rotates pairs of features of x {..., T, H, D}. A pair consists of the features j and D / 2 + j. The argument
/// `waves`, {T, D} or {..., T, D}, holds the cosines and then the sines of the angles. If Back is true, the pairs are
/// rotated back, by the negative angles.
template <bool Back>
struct rotated_op : op {
  static constexpr fixed_string name = "rotary";
  using rule = misuse::pairs_of_features;
  static constexpr making makes(int, int, const auto&...) { return {.overwrites = 0}; }
  static constexpr shape result(const shape& x, const shape& waves) {
    if (x.rank < 3 || x[-1] % 2 != 0) return no_shape;
    const shape without_heads = reduced(x, detail::axis_set{1} << (x.rank - 2), false);
    return waves == without_heads || waves == shape{x[-3], x[-1]} ? x : no_shape;
  }
  static constexpr bool keeps_rows(int i, const shape& x, const shape& waves) {
    return i == 0 || waves.rank == x.rank - 1;
  }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return 3 * x.count(); }
  static constexpr auto vjp(auto g, auto, auto x, auto waves) {
    const auto [g1, g2] = split<-1, 2>(g);
    const auto [x1, x2] = split<-1, 2>(x);
    const auto of_sine = constant < Back ? -1 : 1 > *(g2 * x1 - g1 * x2);
    return gradients(make<rotated_op<!Back>>(g, waves), sum<-2>(concatenate<-1>(g1 * x1 + g2 * x2, of_sine)));
  }
};

template <double Base>
struct rotary_form : form_of<"rotary", 2, misuse::two_arguments> {
  template <class... A>
  static constexpr bool fits = sizeof...(A) == 1 || sizeof...(A) == 2;

  template <an_expression X>
  static constexpr auto body(X x) {
    if constexpr (wrong<X> || 3 > X::shape.rank) return body(x, arange<1>);
    else return body(x, arange<X::shape[-3]>);
  }
  template <an_expression X, an_expression P>
  static constexpr auto body(X x, P positions) {
    constexpr int features = X::shape.rank == 0 ? 1 : X::shape[-1];
    using what = fact::operation<"rotary">;
    using problem = decltype(problem_of_settings<rotary_form, owner_of<X, P>, fact::in<>, what>());
    if constexpr (wrong<X> || wrong<P> || std::same_as<problem, sound>)
      return make<rotated_op<false>>(x, make<waves_op<features, Base, true>>(positions));
    else return problem{};
  }
  static constexpr std::array all{setting("base", Base, Base > 0 && setting::is_finite(Base), "above 0, finite")};
};

}  // namespace cairn::lang

namespace cairn::nn {
/// Rotates pairs of features of x {..., T, H, D}, as in GPT-NeoX and Llama (Su et al., 2021): `nn::rotary<500000>(q)`,
/// `nn::rotary(k, positions)`. A pair consists of the features j and D / 2 + j and is rotated by the angle
/// `p / Base^(2 j / D)`. The positions p are whole numbers, {T} or {..., T}. Without positions, p runs from 0 to T - 1.
/// Rejects: an odd D; other shapes; a Base that is not finite and above 0.
template <auto Base = 10000.0, class... A>
  requires lang::some_operands<A...>
constexpr lang::applied<lang::rotary_form<static_cast<double>(Base)>, A...> rotary(A...) {
  return {};
}
}  // namespace cairn::nn
