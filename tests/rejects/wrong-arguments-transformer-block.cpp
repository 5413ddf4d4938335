// rejects: cairn \[wrong-arguments\]: a layer of attention takes x.* at most one mask; causal is an option, in <...>
// rejects: operation<cairn::fixed_string<18>\{"transformer_block"\}, float ?\[2\]\[7\]\[12\], cairn::nn::causal_t>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/transformer.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto y = nn::transformer_block<4>(input<"x", 2, 7, 12>, nn::causal);
#else
constexpr auto y = nn::transformer_block<4, nn::causal>(input<"x", 2, 7, 12>);
#endif
static_assert(an_expression<decltype(y)>);
