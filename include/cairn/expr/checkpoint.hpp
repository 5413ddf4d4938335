// Activation checkpoints: segments whose interior is recomputed in backward instead of stored.
// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
#pragma once

#include "cairn/expr/compose.hpp"

namespace cairn {

namespace detail {
template <fixed_string Name, class Hiding>
struct segment_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<segment_mark<Name>, hidden_in<Hiding>, A...> operator()(A...) const {
    return {};
  }
};
}  // namespace detail

/// A segment: f applied to boundaries, as in torch.utils.checkpoint.checkpoint(f, a, b). The forward pass
/// stores the boundaries; backward recomputes from them what it reads of the interior. `auto [h, c] =
/// ckpt<"cell">(lstm, x, h0, c0)` where f returns a std::tuple.
/// Rejects: detach inside, values of other bodies or computed from inputs outside, arguments that f never reads, bodies
/// with captures.
template <fixed_string Name, class F, an_expression... A>
  requires(sizeof...(A) > 0)
constexpr called<segment_mark<Name>, F, A...> ckpt(F, A...) {
  return {};
}

/// A layer made into a checkpointed layer; or, where f takes no arguments, a segment of parameters only.
template <fixed_string Name, class F>
constexpr auto ckpt(F) {
  if constexpr (std::is_invocable_v<const F&>) return called<segment_mark<Name>, F>{};
  else return detail::segment_layer<Name, detail::hiding<F>>{};
}

}  // namespace cairn
