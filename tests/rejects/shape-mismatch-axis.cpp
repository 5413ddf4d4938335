// rejects: cairn \[shape-mismatch\]: the argument has no such axes
// rejects: operation<cairn::fixed_string<4>\{"sum"\}, float ?\[4\]\[6\]>
// rejects: axes<2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 2;
#else
constexpr int width = 1;
#endif

constexpr auto y = mean<width>(input<"x", 4, 6>);
constexpr auto loss = sum(y);
static_assert(an_expression<decltype(loss)>);
