// rejects: cairn \[shape-mismatch\]: pad<axis, before, after>\(x\) puts so many zeros around an axis that exists
// rejects: operation<cairn::fixed_string<4>\{"pad"\}, float ?\[4\]\[6\]>, .*pad<1, -1, 2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/slice.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int before = -1;
#else
constexpr int before = 1;
#endif

constexpr auto loss = sum(pad<1, before, 2>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
