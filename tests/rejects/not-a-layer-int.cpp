// rejects: cairn \[not-a-layer\]: a layer returns an expression
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: returned<int>
#include "cairn/core/misuse.hpp"
#include "cairn/expr/checkpoint.hpp"
#include "cairn/expr/reduce.hpp"

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
