// rejects: cairn \[shape-mismatch\]: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}
// rejects: fact::in<cairn::fixed_string<5>\{"attn"\}>
// rejects: operation<cairn::fixed_string<16>\{"cross_attention"\}, float ?\[2\]\[7\]\[12\], float ?\[3\]\[5\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int examples = 3;
#else
constexpr int examples = 2;
#endif

constexpr auto y = nn::cross_attention<"attn", 4>(input<"x", 2, 7, 12>, input<"memory", examples, 5, 8>);
static_assert(an_expression<decltype(y)>);
