// The program reports this mistake.
//
// A value that an earlier call left in a cache has no gradient, and was computed with other parameters. A step with a
// cache would train a model that is not the written model. A program sees all rows at once, so it needs no cache: take
// a `state`, or write `in_training(a, b)` with an `a` that has no cache. A predictor may also have a model of its own,
// which has the same parameters.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/placed.hpp"

using namespace cairn;

// case: cache-in-program
// says: a cache is what a predictor keeps.*in_training\(a, b\)
// shows: fact::state<cairn::fixed_string<13>\{"block.0.keys"\}>
constexpr auto keys = cache<"keys", 8, 4>;
constexpr auto going_on = [](auto x) {
  const auto all = placed<0>(keys, indices<"at", 8, 1>, x);
  const auto sums = sum<0>(all, keepdim);
  return updated(sums, keys, all);                  // wrong
  return in_training(x, updated(sums, keys, all));  // right
};
constexpr auto model = repeat<2, "block">([](auto) { return nn::linear<"fc", 4> | layer(going_on); });
constexpr auto loss = sum(input<"x", 1, 4> | model);
static_assert(detail::checked<loss>());
