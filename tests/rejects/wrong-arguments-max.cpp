// rejects: cairn \[wrong-arguments\]: max and min reduce one expression over axes.*maximum\(x, y\)
// rejects: operation<cairn::fixed_string<4>\{"max"\}, float ?\[8\]\[2\], float ?\[8\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = param<"x", 8, 2>;

#ifdef CAIRN_REJECT
constexpr auto y = max(x, square(x));
#else
constexpr auto y = maximum(x, square(x));
#endif

constexpr auto loss = sum(y);
static_assert(an_expression<decltype(loss)>);
