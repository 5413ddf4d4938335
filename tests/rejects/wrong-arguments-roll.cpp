// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// rejects: operation<cairn::fixed_string<5>\{"roll"\}, float ?\[4\]\[6\], int, int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/roll.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4, 6>;
#ifdef CAIRN_REJECT
constexpr auto loss = sum(roll(x, 1, 0));
#else
constexpr auto loss = sum(roll<0, 1>(x));
#endif
static_assert(an_expression<decltype(loss)>);
