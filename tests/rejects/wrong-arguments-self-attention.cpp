// rejects: cairn \[wrong-arguments\]: a layer of attention takes x, or x and a memory, then at most one mask
// rejects: fact::in<cairn::fixed_string<5>\{"attn"\}>
// rejects: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], int>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, 1);
#else
constexpr auto y = nn::self_attention<"attn", 4>(input<"x", 2, 7, 12>, 1_c);
#endif
static_assert(an_expression<decltype(y)>);
