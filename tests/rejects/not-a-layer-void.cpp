// rejects: cairn \[not-a-layer\]: a layer returns an expression
// rejects: returned<void>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto forgotten = [](auto x) {
#ifdef CAIRN_REJECT
  static_cast<void>(exp(x));
#else
  return exp(x);
#endif
};
constexpr auto loss = mean(input<"x", 4> | layer(forgotten));
static_assert(an_expression<decltype(loss)>);
