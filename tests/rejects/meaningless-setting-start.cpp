// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: fact::in<(cairn::)?fixed_string<2>\{"w"\}>
// rejects: setting<(cairn::)?fixed_string<6>\{"width"\}, -2\.0.*, (cairn::)?fixed_string<18>\{"0 or more, finite"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto y = exp(param_from<"w", initial::normal(-0.02), 8, 4>);
#else
constexpr auto y = exp(param_from<"w", initial::normal(0.02), 8, 4>);
#endif
static_assert(an_expression<decltype(y)>);
