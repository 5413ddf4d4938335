// rejects: cairn \[wrong-arguments\]: the exponent of pow is a constant, from -64 to 64 and not 0: pow\(x, 2_c\)
// rejects: operation<cairn::fixed_string<4>\{"pow"\}, float ?\[8\]\[16\], int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = pow(x, 2);
#else
constexpr auto y = pow(x, 2_c);
#endif
static_assert(an_expression<decltype(y)>);
