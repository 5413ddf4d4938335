// rejects: cairn \[wrong-arguments\]: huber<delta>\(result, target\) takes a delta above 0
// rejects: operation<cairn::fixed_string<6>\{"huber"\}, float ?\[8\]\[4\], float ?\[8\]\[4\]>
// rejects: fact::delta<0\.0
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
#ifdef CAIRN_REJECT
constexpr auto loss = huber<0>(x, tanh(x));
#else
constexpr auto loss = huber<2>(x, tanh(x));
#endif
static_assert(an_expression<decltype(loss)>);
