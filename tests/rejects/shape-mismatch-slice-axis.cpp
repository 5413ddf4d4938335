// rejects: cairn \[shape-mismatch\]: a slice is one or more elements \[begin, end\) of an axis that exists
// rejects: operation<cairn::fixed_string<9>\{"slice\(x\)"\}, float ?\[4\]\[6\]>
// rejects: slice<2, 0, 4>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 2;
#else
constexpr int axis = -1;
#endif

constexpr auto loss = mean(slice<axis, 0, 4>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
