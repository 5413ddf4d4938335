// rejects: cairn \[shape-mismatch\]: the argument has no such axes: they count from 0, or backward from -1
// rejects: fact::in<cairn::fixed_string<6>\{"inner"\}>
// rejects: operation<cairn::fixed_string<11>\{"shift\(sum\)"\}, float>, cairn::fact::axes<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/roll.hpp"

using namespace cairn;

// A scalar has no axis.
constexpr auto steepest = layer([](auto u) {
#ifdef CAIRN_REJECT
  const auto of = sum(u);
#else
  const auto of = u;
#endif
  return of - nn::shift<0, 1, edge::nearest>(of);
});
constexpr auto loss = sum(input<"u", 8> | block<"inner">(steepest));
static_assert(an_expression<decltype(loss)>);
