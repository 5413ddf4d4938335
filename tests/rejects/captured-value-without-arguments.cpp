// rejects: cairn \[captured-value\]: a body uses another's value, or one of inputs not given to it
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto y = ckpt<"enc">([] { return tanh(input<"x", 4>); });
#else
constexpr auto y = ckpt<"enc">([] { return tanh(param<"w", 4>); });
#endif

constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
