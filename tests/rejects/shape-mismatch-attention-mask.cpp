// rejects: cairn \[shape-mismatch\]: attention .* masks fit \{N, H, T, S\}
// rejects: float ?\[2\]\[9\]\[4\]\[8\], float ?\[9\]\[7\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto mask = input<"mask", 9, 7>;
#else
constexpr auto mask = input<"mask", 7, 9>;
#endif

constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr auto y = nn::attention(input<"q", 2, 7, 4, 8>, k, k, nn::causal, mask);
static_assert(an_expression<decltype(y)>);
