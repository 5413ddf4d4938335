// rejects: cairn \[wrong-arguments\]: this takes two arguments: cross_entropy
// rejects: operation<cairn::fixed_string<7>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 5, 6, 3>;
#ifdef CAIRN_REJECT
constexpr auto y = conv2d(x);
#else
constexpr auto y = conv2d(x, param<"w", 2, 3, 1, 1>);
#endif
static_assert(an_expression<decltype(y)>);
