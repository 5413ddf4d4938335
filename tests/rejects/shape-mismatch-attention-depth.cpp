// rejects: cairn \[shape-mismatch\]: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}, h divides H
// rejects: fact::in<cairn::fixed_string<\d+>\{"attn"\}>
// rejects: float ?\[2\]\[7\]\[4\]\[8\], float ?\[2\]\[9\]\[4\]\[6\], float ?\[2\]\[9\]\[4\]\[6\]
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"
#include "cairn/lang/checkpoint.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int depth = 6;
#else
constexpr int depth = 8;
#endif

constexpr auto f = [](auto q, auto k) { return nn::attention(q, k, k); };
constexpr auto y = ckpt<"attn">(f, input<"q", 2, 7, 4, 8>, input<"k", 2, 9, 4, depth>);
static_assert(an_expression<decltype(y)>);
