// rejects: cairn \[not-a-layer\]: a layer captures nothing and has no members; pass values as arguments
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: given<.*lambda
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto segment(int) {
  return ckpt<"enc">([n = 2](auto x) { return n > 1 ? x * x : x * x; });
}
constexpr auto loss = mean(input<"x", 4> | segment(2));
#else
constexpr auto segment = ckpt<"enc">([](auto x) { return x * x; });
constexpr auto loss = mean(input<"x", 4> | segment);
#endif
static_assert(an_expression<decltype(loss)>);
