// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// rejects: operation<cairn::fixed_string<6>\{"shift"\}, float ?\[4\]\[6\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/roll.hpp"

using namespace cairn;

// What goes around is roll.
constexpr auto x = input<"x", 4, 6>;
#ifdef CAIRN_REJECT
constexpr auto loss = sum(nn::shift<0, 1, edge::wrap>(x));
#else
constexpr auto loss = sum(nn::shift<0, 1, edge::nearest>(x));
#endif
static_assert(an_expression<decltype(loss)>);
