// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: fact::in<cairn::fixed_string<10>\{"self_attn"\}>
// rejects: operation<cairn::fixed_string<15>\{"self_attention"\}, float ?\[2\]\[7\]\[12\], int ?\[7\]\[7\]>
// rejects: fact::bound<3>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/transformer.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int bound = 3;
#else
constexpr int bound = 2;
#endif

constexpr auto y = nn::transformer_block<4>(input<"x", 2, 7, 12>, indices<"m", bound, 7, 7>);
static_assert(an_expression<decltype(y)>);
