// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// rejects: fact::in<cairn::fixed_string<6>\{"twice"\}>
// rejects: operation<cairn::fixed_string<4>\{"mul"\}, int, float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto twice = [](auto x) { return 2 * x; };
#else
constexpr auto twice = [](auto x) { return constant<2> * x; };
#endif

constexpr auto loss = mean(input<"x", 4> | block<"twice">(twice));
static_assert(an_expression<decltype(loss)>);
