// rejects: cairn \[shape-mismatch\]: the argument has no such axes
// rejects: operation<cairn::fixed_string<4>\{"max"\}, float ?\[4\]\[6\]>
// rejects: axes<2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 2;
#else
constexpr int axis = 1;
#endif

constexpr auto loss = sum(max<axis>(param<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
