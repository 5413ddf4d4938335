// rejects: cairn \[shape-mismatch\]: rotary turns pairs of features: .* positions \{T\} or \{..., T\}
// rejects: operation<cairn::fixed_string<17>\{"rotary\(q, waves\)"\}, float ?\[2\]\[8\]\[4\]\[6\], float ?\[4\]\[6\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/rotary.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto positions = indices<"positions", 100, 4>;  // of heads
#else
constexpr auto positions = indices<"positions", 100, 8>;
#endif

constexpr auto q = nn::rotary(input<"q", 2, 8, 4, 6>, positions);
static_assert(an_expression<decltype(q)>);
