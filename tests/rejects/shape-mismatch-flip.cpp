// rejects: cairn \[shape-mismatch\]: the argument has no such axes
// rejects: operation<cairn::fixed_string<5>\{"flip"\}, float ?\[4\]\[6\]>, .*axes<0, 2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/slice.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 2;
#else
constexpr int axis = 1;
#endif

constexpr auto loss = sum(flip<0, axis>(input<"x", 4, 6>));
static_assert(an_expression<decltype(loss)>);
