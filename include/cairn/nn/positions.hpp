// Waves of positions, added to features.
#pragma once

#include "cairn/expr/rotary.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

struct sinusoidal_positions_layer : layer_base {
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"sinusoidal_positions", "">(x));
    if constexpr (!std::same_as<problem, sound>) return surfaced<problem>{};
    else return x + make<waves_op<X::shape[-1], 10000.0, false>>(arange<X::shape[-2]>);
  }
};

/// x {..., T, features} plus sine and cosine of t / 10000^(2 j / features), which are features 2 j and 2 j + 1, for
/// each position t (Vaswani et al., 2017). Rejects: fewer than two axes.
inline constexpr sinusoidal_positions_layer sinusoidal_positions{};

}  // namespace cairn::nn
