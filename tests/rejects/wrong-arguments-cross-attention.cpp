// rejects: cairn \[wrong-arguments\]: a layer of attention takes x, or x and a memory, then at most one mask
// rejects: fact::in<cairn::fixed_string<12>\{"block\.0"\}, cairn::fixed_string<5>\{"attn"\}>|fact::in<cairn::fixed_string<\d+>\{"block\.0\.attn"\}>
// rejects: operation<cairn::fixed_string<16>\{"cross_attention"\}, float ?\[2\]\[7\]\[12\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto attend = nn::cross_attention<"attn", 4>;  // has no memory
#else
constexpr auto attend = nn::self_attention<"attn", 4>;
#endif

constexpr auto y = input<"x", 2, 7, 12> | repeat<2, "block">([](auto) { return attend; });
static_assert(an_expression<decltype(y)>);
