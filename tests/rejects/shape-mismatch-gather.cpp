// rejects: cairn \[shape-mismatch\]: gather<Axis>\(table, indices\) puts the extents of the indices in place of that axis
// rejects: operation<cairn::fixed_string<18>\{"gather\(table, at\)"\}, float ?\[16\]\[8\], int ?\[4\]\[3\]>
// rejects: axes<2>
#include "cairn/misuse/table.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int axis = 2;
#else
constexpr int axis = 1;
#endif

constexpr auto loss = sum(gather<axis>(param<"table", 16, 8>, indices<"at", 8, 4, 3>));
static_assert(an_expression<decltype(loss)>);
