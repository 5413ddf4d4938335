// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// rejects: operation<cairn::fixed_string<4>\{"mul"\}, float ?\[4\], float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4>;

#ifdef CAIRN_REJECT
constexpr auto y = x * 0.5f;
#else
constexpr auto y = x * 0.5_c;
#endif

constexpr auto loss = mean(y + 1.0_c);
static_assert(an_expression<decltype(loss)>);
