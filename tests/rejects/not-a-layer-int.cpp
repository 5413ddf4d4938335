// rejects: cairn \[not-a-layer\]: a layer returns an expression
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: returned<int>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto rows = [](auto x) {
#ifdef CAIRN_REJECT
  return decltype(x)::shape.rank;
#else
  return exp(x);
#endif
};
constexpr auto loss = mean(input<"x", 4> | block<"enc">(rows));
static_assert(an_expression<decltype(loss)>);
