// rejects: cairn \[loss-not-scalar\]: grad takes a scalar first, then what it is differentiated by
// rejects: operation<cairn::fixed_string<5>\{"grad"\}, float ?\[8\]\[4\], float ?\[8\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 3>;
constexpr auto y = x | nn::linear<"fc", 4>;
#ifdef CAIRN_REJECT
constexpr auto slope = grad(y, x);
#else
constexpr auto slope = grad(sum(y), x);
#endif
static_assert(an_expression<decltype(slope)>);
