// rejects: cairn \[shape-mismatch\]: the argument has no such axes: they count from 0, or backward from -1
// rejects: operation<cairn::fixed_string<8>\{"roll\(x\)"\}, float ?\[4\]\[6\]>, cairn::fact::axes<2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/roll.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 2;
#else
constexpr int axis = -2;
#endif

constexpr auto loss = sum(roll<axis, 1>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
