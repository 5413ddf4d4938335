// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: fact::in<(cairn::)?fixed_string<5>\{"norm"\}>
// rejects: setting<(cairn::)?fixed_string<4>\{"eps"\}, -1\.0.*, (cairn::)?fixed_string<18>\{"0 or more, finite"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/norm.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
#ifdef CAIRN_REJECT
constexpr auto y = x | nn::layer_norm<"norm", -1e-5>;
#else
constexpr auto y = x | nn::layer_norm<"norm", 1e-5>;
#endif
static_assert(an_expression<decltype(y)>);
