// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments
// rejects: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[8\]\[16\], float ?\[8\]\[16\], int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = concatenate(x, exp(x), 1);
#else
constexpr auto y = concatenate<1>(x, exp(x));
#endif
constexpr auto loss = sum(y);
static_assert(an_expression<decltype(loss)>);
