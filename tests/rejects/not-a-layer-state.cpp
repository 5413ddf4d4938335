// rejects: cairn \[not-a-layer\]: a layer captures nothing and has no members; pass values as arguments
// rejects: given<(cairn::)?scaled>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

struct scaled {
#ifdef CAIRN_REJECT
  double by = 0.5;  // what a program computes is fixed when it is compiled
#endif
  constexpr auto operator()(auto x) const { return 0.5_c * x; }
};
constexpr auto loss = mean(input<"x", 4> | layer(scaled{}));
static_assert(an_expression<decltype(loss)>);
