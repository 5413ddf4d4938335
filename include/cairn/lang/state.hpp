// State: what a step updates beside the parameters, as running statistics.
#pragma once

#include "cairn/lang/leaf.hpp"

namespace cairn {

/// State: numbers that a program keeps from step to step and that get no gradient. They begin as `Init` says; a step
/// and a predictor read them as the last step left them.
template <fixed_string Name, initial Init, std::int64_t... Extents>
inline constexpr typename detail::checked_parameter<Name, false, Init, Extents...>::type state{};

namespace detail {
template <fixed_string Name, std::int64_t... Extents>
struct checked_cache : checked_leaf<Name, cache_leaf<Name, static_cast<int>(Extents)...>, Extents...> {};
}  // namespace detail

/// A cache: a state of a predictor, as the keys and values of a text that it goes on with. It begins as zeros, and is
/// what `updated` says after each call; `predict.reset()` makes it zeros again. No program has one.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr typename detail::checked_cache<Name, Extents...>::type cache{};

struct updated_op : op {
  static constexpr fixed_string name = "updated";
  using rule = rule::equal_shapes;
  static constexpr shape result(const shape& value, const shape& state, const shape& next) {
    return state == next ? value : no_shape;
  }
  static constexpr int stands_for(bool) { return 0; }
  static constexpr next_state becomes(int argument) { return {.argument = argument == 1 ? 2 : -1}; }
};

struct in_training_op : op {
  static constexpr fixed_string name = "in_training";
  using rule = rule::equal_shapes;
  static constexpr shape result(const shape& a, const shape& b) { return a == b ? a : no_shape; }
  static constexpr int stands_for(bool training) { return training ? 0 : 1; }
};

/// The value, with its gradient; and when a step of a program is over, the state is what `next` was in it. That is once
/// a step, in a segment too. A predictor updates caches alone, so when a call is over.
/// Rejects: states of another shape than `next`, and in a program two different updates of one state.
template <an_operand Value, an_operand State, an_operand Next>
constexpr made<updated_op, Value, State, Next> updated(Value, State, Next) {
  return {};
}

/// a in a program, b in a predictor; equal shapes.
template <an_operand A, an_operand B>
constexpr made<in_training_op, A, B> in_training(A, B) {
  return {};
}

}  // namespace cairn
