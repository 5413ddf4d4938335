// rejects: cairn \[shape-mismatch\]: stack<axis> makes a new axis, from 0 to the number of axes there are
// rejects: operation<cairn::fixed_string<6>\{"stack"\}, float ?\[4\]\[6\]>, .*axes<3>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 3;
#else
constexpr int axis = 2;
#endif

constexpr auto loss = sum(stack<axis>(input<"x", 4, 6>, input<"y", 4, 6>));
static_assert(an_expression<decltype(loss)>);
