// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it; pass it as an argument
// rejects: fact::in<cairn::fixed_string<12>\{"outer\.inner"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

// The inner body returns what is not its own.
constexpr auto outer = [](auto x) {
#ifdef CAIRN_REJECT
  return ckpt<"inner">([](auto) { return tanh(decltype(x){}); }, exp(x));
#else
  return ckpt<"inner">([](auto y) { return tanh(y); }, exp(x));
#endif
};
constexpr auto loss = mean(block<"outer">(outer)(param<"x", 4>));
static_assert(an_expression<decltype(loss)>);
