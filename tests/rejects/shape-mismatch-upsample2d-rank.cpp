// rejects: cairn \[shape-mismatch\]: this takes images \{N, H, W, C\}
// rejects: fact::in<cairn::fixed_string<3>\{"up"\}>
// rejects: operation<cairn::fixed_string<11>\{"upsample2d"\}, float ?\[28\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 28, 3>;
#else
constexpr auto x = input<"x", 1, 28, 28, 3>;
#endif

constexpr auto y = x | block<"up">(nn::upsample2d<2>);
static_assert(an_expression<decltype(y)>);
