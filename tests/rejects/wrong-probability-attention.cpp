// rejects: cairn \[wrong-probability\]: elements are dropped with a probability from 0 to below 1
// rejects: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\]
// rejects: fact::probability<1\.
#include "cairn/misuse/table.hpp"
#include "cairn/op/attention.hpp"

using namespace cairn;

constexpr auto k = input<"k", 2, 9, 4, 8>;
#ifdef CAIRN_REJECT
constexpr int probability = 1;
#else
constexpr int probability = 0;
#endif
constexpr auto y = nn::attention<"drop", probability>(k, k, k);
static_assert(an_expression<decltype(y)>);
