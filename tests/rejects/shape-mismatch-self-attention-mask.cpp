// rejects: cairn \[shape-mismatch\]: a mask in a layer of attention fits scores \{N, heads, T, S\}
// rejects: fact::in<cairn::fixed_string<5>\{"attn"\}>
// rejects: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], float ?\[2\]\[7\]>
// rejects: fact::extents<2, 4, 7, 7>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

constexpr auto kept = input<"kept", 2, 7>;
#ifdef CAIRN_REJECT
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, kept);
#else
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, reshape<2, 1, 1, 7>(kept));
#endif
static_assert(an_expression<decltype(y)>);
