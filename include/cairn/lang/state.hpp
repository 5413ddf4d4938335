// State: values that a training step updates in addition to the parameters, for example running statistics.
#pragma once

#include "cairn/lang/leaf.hpp"

namespace cairn::lang {

/// A state: numbers that a program keeps from one training step to the next. A state gets no gradient. It begins as
/// `Init` says. A training step and a predictor read the value that the last training step left.
template <fixed_string Name, initial Init, std::int64_t... Extents>
inline constexpr typename checked_parameter<Name, false, Init, Extents...>::type state{};

/// A cache: a state of a predictor, for example the keys and values of a text that the predictor continues. A cache
/// begins as zeros, and gets the value of `updated` after each call. `predict.reset()` sets it to zeros. Programs
/// reject caches.
template <fixed_string Name, std::int64_t... Extents>
inline constexpr sound_or<decltype(problem_of_extents<Name, Extents...>()),
                          cache_leaf<Name, static_cast<int>(Extents)...>>
    cache{};

/// The operation of `updated`: its value is argument 0. The state, argument 1, becomes argument 2.
template <shard_join Join>
struct updated_op : op {
  static constexpr fixed_string name = "updated";
  using rule = misuse::equal_shapes;
  static constexpr shape result(const shape& value, const shape& state, const shape& next) {
    return state == next ? value : no_shape;
  }
  static constexpr int stands_for(bool) { return 0; }
  static constexpr next_state becomes(int argument) { return {.argument = argument == 1 ? 2 : -1, .join = Join}; }
};

/// The operation of `in_training`: stands for argument 0 in a program, and for argument 1 in a predictor.
struct in_training_op : op {
  static constexpr fixed_string name = "in_training";
  using rule = misuse::equal_shapes;
  static constexpr shape result(const shape& a, const shape& b) { return a == b ? a : no_shape; }
  static constexpr int stands_for(bool training) { return training ? 0 : 1; }
};

/// The operation of `over_parts`, which stands for argument 0 if the batch is not divided.
struct over_parts_op : op {
  static constexpr fixed_string name = "over_parts";
  using rule = misuse::one_number;
  static constexpr shape result(const shape& x) { return x.rank == 0 ? x : no_shape; }
  static constexpr int stands_for(bool) { return 0; }
  static constexpr bool averages_over_parts = true;
};

/// The constant `Factor * n / (n - 1)` for the n rows of a batch, of which each shard has `Rows`. A variance of n rows
/// becomes unbiased if it is multiplied by n / (n - 1). If there is only one row, the constant is `Factor`.
template <double Factor, std::int64_t Rows>
struct unbiased_leaf : leaf<element_type{}> {
  static constexpr expression_traits traits{};
};

/// Returns the value, with its gradient, and updates a state. After a training step of a program, the state has the
/// value that `next` had in the step. The state is updated once in a training step, also if `updated` is in a segment.
/// A predictor updates only caches, after a call.
///
/// A program with microbatch<N> updates a state in each microbatch. A program with shards<L> joins the next values of
/// the shards. The caller says how: `updated<shard_join::mean>(value, state, next)`.
///
/// Rejects a state of another shape than `next`. A program rejects two different updates of one state.
template <shard_join Join = shard_join::unsaid, an_operand Value, an_operand State, an_operand Next>
constexpr made<updated_op<Join>, Value, State, Next> updated(Value, State, Next) {
  return {};
}

/// Returns a in a program and b in a predictor. Both must have the same shape.
template <an_operand A, an_operand B>
constexpr made<in_training_op, A, B> in_training(A, B) {
  return {};
}

/// Returns the mean of x over the microbatches of the whole batch, in a program with microbatch<N> or shards<L>. In
/// other programs it returns x. A loss that is divided by a count of its own, such as the number of rows that count,
/// has the same weight for each row of the batch if the count is `over_parts(count)`. x is a single number. It gets no
/// gradient if the batch is divided.
///
/// Rejects an x that is no single number. A program that divides its batch rejects an x that depends on parameters,
/// states or random numbers, and `over_parts` in the body of a scan.
template <an_operand X>
constexpr made<over_parts_op, X> over_parts(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::cache, lang::in_training, lang::over_parts, lang::state, lang::updated;
}  // namespace cairn
