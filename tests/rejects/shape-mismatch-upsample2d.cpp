// rejects: cairn \[shape-mismatch\]: upsample2d<n>\(x\) makes n x n pixels of each; n is at least 1
// rejects: operation<cairn::fixed_string<11>\{"upsample2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// rejects: fact::factor<0>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int factor = 0;
#else
constexpr int factor = 1;
#endif

constexpr auto y = upsample2d<factor>(input<"x", 8, 5, 6, 3>);
static_assert(an_expression<decltype(y)>);
