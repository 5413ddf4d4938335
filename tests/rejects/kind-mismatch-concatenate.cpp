// rejects: cairn \[kind-mismatch\]: a plain number cannot enter an expression.*write 0.5_c or constant<0.5>
// rejects: fact::in<cairn::fixed_string<7>\{"padded"\}>
// rejects: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[4\], double>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto padded = [](auto x) { return concatenate<0>(x, 1.0); };
#else
constexpr auto padded = [](auto x) { return concatenate<0>(x, reshape<1>(1.0_c)); };
#endif

constexpr auto loss = mean(input<"x", 4> | block<"padded">(padded));
static_assert(an_expression<decltype(loss)>);
