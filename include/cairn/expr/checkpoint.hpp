// Activation checkpoints: segments whose interior is recomputed in backward instead of stored.
// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
#pragma once

#include "cairn/expr/compose.hpp"

namespace cairn {

/// Policy: in some programs the segment may keep no less than it frees, or need no gradient, which are errors else.
struct allow_useless {};

template <class T>
concept a_policy = std::same_as<T, allow_useless>;

namespace detail {
template <class Mark, class Hiding>
struct segment_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<Mark, hidden_in<Hiding>, A...> operator()(A...) const {
    return {};
  }
};
}  // namespace detail

/// A segment: f applied to boundaries, as in torch.utils.checkpoint.checkpoint(f, a, b). The forward pass
/// stores the boundaries; backward recomputes from them what it reads of the interior. `auto [h, c] =
/// ckpt<"cell">(lstm, x, h0, c0)` where f returns a std::tuple.
/// Rejects: detach inside, values of other bodies or computed from inputs outside, arguments that f never reads, bodies
/// with captures; and in a program, segments without a gradient and those that keep no less than they free.
template <fixed_string Name, a_policy... Policy, class F, an_expression... A>
  requires(sizeof...(A) > 0)
constexpr called<segment_mark<Name, Policy...>, F, A...> ckpt(F, A...) {
  return {};
}

/// A layer made into a checkpointed layer; or, where f takes no arguments, a segment of parameters only.
template <fixed_string Name, a_policy... Policy, class F>
constexpr auto ckpt(F) {
  using mark = segment_mark<Name, Policy...>;
  if constexpr (std::is_invocable_v<const F&>) return called<mark, F>{};
  else return detail::segment_layer<mark, detail::hiding<F>>{};
}

}  // namespace cairn
