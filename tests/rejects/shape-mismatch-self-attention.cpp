// rejects: cairn \[shape-mismatch\]: layers of attention take \{N, T, features\}: heads divide the features
// rejects: fact::in<cairn::fixed_string<\d+>\{"block\.0"\}, cairn::fixed_string<\d+>\{"attn"\}>|fact::in<cairn::fixed_string<\d+>\{"block\.0\.attn"\}>
// rejects: operation<cairn::fixed_string<\d+>\{"self_attention"\}, float ?\[2\]\[7\]\[12\]>
// rejects: fact::heads<4, 3>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/nn/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int key_heads = 3;
#else
constexpr int key_heads = 2;
#endif

constexpr auto body = [](auto) { return nn::self_attention<"attn", 4, nn::attention_options{.key_heads = key_heads}>; };
constexpr auto y = input<"x", 2, 7, 12> | repeat<2, "block">(body);
static_assert(an_expression<decltype(y)>);
