// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it; pass it as an argument
// rejects: fact::in<cairn::fixed_string<12>\{"outer\.inner"\}>
// rejects: operation<cairn::fixed_string<4>\{"add"\}, float ?\[4\], float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

// The argument of the outer body enters the inner one through its type.
constexpr auto outer = [](auto x) {
#ifdef CAIRN_REJECT
  return ckpt<"inner">([](auto y) { return y + decltype(x){}; }, exp(x));
#else
  return ckpt<"inner">([](auto y, auto x) { return y + x; }, exp(x), x);
#endif
};
constexpr auto loss = mean(block<"outer">(outer)(param<"x", 4>));
static_assert(an_expression<decltype(loss)>);
