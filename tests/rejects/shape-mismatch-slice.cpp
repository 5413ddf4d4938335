// rejects: cairn \[shape-mismatch\]: a slice is one or more elements \[begin, end\) of an axis that exists
// rejects: operation<cairn::fixed_string<9>\{"slice\(x\)"\}, float ?\[4\]\[6\]>
// rejects: slice<1, 4, 7>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int end = 7;
#else
constexpr int end = 6;
#endif

constexpr auto y = slice<1, 4, end>(input<"x", 4, 6>);
constexpr auto loss = mean(y * y);
static_assert(an_expression<decltype(loss)>);
