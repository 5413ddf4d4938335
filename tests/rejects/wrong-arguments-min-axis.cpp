// rejects: cairn \[wrong-arguments\]: max and min reduce one expression over axes in <...>: max<-1>\(x\)
// rejects: operation<cairn::fixed_string<4>\{"min"\}, float ?\[8\]\[2\], int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = param<"x", 8, 2>;

#ifdef CAIRN_REJECT
constexpr auto y = min(x, 1);
#else
constexpr auto y = min<1>(x);
#endif

constexpr auto loss = sum(y);
static_assert(an_expression<decltype(loss)>);
