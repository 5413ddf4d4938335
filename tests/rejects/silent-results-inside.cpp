// rejects: cairn \[detached-in-segment\]
// rejects: fact::in<cairn::fixed_string<14>\{"encoder\.inner"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

// As silent-results, but all of it inside a body.
constexpr auto halves = [](auto x) {
#ifdef CAIRN_REJECT
  return std::tuple{exp(x), detach(x)};
#else
  return std::tuple{exp(x), tanh(x)};
#endif
};
constexpr auto encoder = [](auto x) {
  auto [a, b] = ckpt<"inner">(halves, x);
  auto [c, d] = ckpt<"outer">(halves, a * b);
  return c + d;
};
constexpr auto loss = mean(input<"x", 4> | block<"encoder">(encoder));
static_assert(an_expression<decltype(loss)>);
