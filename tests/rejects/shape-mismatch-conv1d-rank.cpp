// rejects: cairn \[shape-mismatch\]: rows \{N, L, C\} take filters \{O, C / groups, extent\}
// rejects: float ?\[8\]\[5\]\[6\]\[3\]
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 8, 5, 6, 3>;
#else
constexpr auto x = input<"x", 8, 30, 3>;
#endif

constexpr auto y = x | nn::conv1d<"conv1", 12, 3>;
static_assert(an_expression<decltype(y)>);
