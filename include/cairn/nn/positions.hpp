// Waves of positions (sines and cosines) that are added to features.
#pragma once

#include "cairn/nn/features.hpp"
#include "cairn/op/rotary.hpp"

namespace cairn::nn {

namespace detail {
struct sinusoidal_positions_layer : lang::layer_base {
  static constexpr fixed_string name = "sinusoidal_positions";
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<name, "">(x));
    if constexpr (!std::same_as<problem, lang::sound>) return lang::surfaced<problem>{};
    else return (*this)(x, arange<X::shape[-2]>);
  }
  template <an_expression X, an_expression P>
  constexpr auto operator()(X x, P positions) const {
    using problem = decltype(problem_of<X>(x, positions));
    if constexpr (!std::same_as<problem, lang::sound>) return lang::surfaced<problem>{};
    else return x + make<lang::waves_op<X::shape[-1], 10000.0, false>>(positions);
  }

 private:
  template <class X, class P>
  static constexpr auto problem_of(X x, P positions) {
    using of_features = decltype(detail::problem_of_features<name, "">(x));
    using what = fact::operation<name, lang::tensor_fact<X>, lang::tensor_fact<P>>;
    constexpr shape rows = reduced(X::shape, cairn::detail::axis_set{1} << std::max(X::shape.rank - 1, 0), false);
    if constexpr (!std::same_as<of_features, lang::sound>) return of_features{};
    else if constexpr (lang::wrong<P>) return positions;
    else if constexpr (kind_of(P::element.type) != kind::whole)
      return lang::mistake<misuse::kind_mismatch, lang::owner_of<X, P>, what, fact::takes<float, int>>{};
    else if constexpr (P::shape == rows || P::shape == shape{rows[-1]}) return lang::sound{};
    else return lang::mistake<misuse::positions_of_rows, lang::owner_of<X, P>, what>{};
  }
};
}  // namespace detail

/// Adds sines and cosines of positions to x {..., T, features} (Vaswani et al., 2017): `x | nn::sinusoidal_positions`,
/// `nn::sinusoidal_positions(x, positions)`. Feature 2 j gets the sine and feature 2 j + 1 gets the cosine of
/// `p / 10000^(2 j / features)`, where p is the position of the row. The positions are whole numbers, {T} or {..., T}.
/// Without positions, p runs from 0 to T - 1.
/// Rejects: fewer than two axes; positions of other shapes; positions that are real numbers.
inline constexpr detail::sinusoidal_positions_layer sinusoidal_positions{};

}  // namespace cairn::nn
