// rejects: cairn \[shape-mismatch\]: this takes images \{N, H, W, C\}
// rejects: operation<cairn::fixed_string<11>\{"max_pool2d"\}, float ?\[28\]\[28\]\[3\]>
#include "cairn/core/misuse.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 28, 28, 3>;
#else
constexpr auto x = input<"x", 1, 28, 28, 3>;
#endif

constexpr auto y = max_pool2d<2>(x);
static_assert(an_expression<decltype(y)>);
