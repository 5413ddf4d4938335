// rejects: cairn \[wrong-arguments\]: attention takes q, k and v, then at most one mask and one causal
// rejects: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\], float ?\[2\]\[9\]\[4\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"

using namespace cairn;

constexpr auto k = input<"k", 2, 9, 4, 8>;
#ifdef CAIRN_REJECT
constexpr auto y = nn::attention<"drop", 0.1>(k, k);
#else
constexpr auto y = nn::attention<"drop", 0.1>(k, k, k);
#endif
static_assert(an_expression<decltype(y)>);
