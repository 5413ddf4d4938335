// rejects: cairn \[shape-mismatch\]: rotary turns pairs of features: it takes \{..., T, H, D\}, D even
// rejects: operation<cairn::fixed_string<17>\{"rotary\(q, waves\)"\}, float ?\[2\]\[8\]\[4\]\[5\], float ?\[8\]\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/rotary.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int features = 5;
#else
constexpr int features = 6;
#endif

constexpr auto q = nn::rotary(input<"q", 2, 8, 4, features>);
static_assert(an_expression<decltype(q)>);
