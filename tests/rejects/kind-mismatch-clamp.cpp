// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression.* write 0.5_c or constant<0.5>
// rejects: operation<cairn::fixed_string<6>\{"clamp"\}, float ?\[8\]\[4\], int, int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto y = clamp(x, 0, 6);
#else
constexpr auto y = clamp(x, 0_c, 6_c);
#endif
static_assert(an_expression<decltype(y)>);
