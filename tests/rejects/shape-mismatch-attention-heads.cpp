// rejects: cairn \[shape-mismatch\]: attention takes \{N, T, H, D\}, twice \{N, S, h, D\}, h divides H
// rejects: operation<cairn::fixed_string<\d+>\{"attention.*"\}, float ?\[2\]\[7\]\[4\]\[8\], float ?\[2\]\[9\]\[3\]\[8\], float ?\[2\]\[9\]\[3\]\[8\]
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int heads = 3;
#else
constexpr int heads = 2;
#endif

constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, input<"k", 2, 9, heads, 8>, input<"v", 2, 9, heads, 8>);
static_assert(an_expression<decltype(y)>);
