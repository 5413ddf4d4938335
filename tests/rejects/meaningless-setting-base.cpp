// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: operation<(cairn::)?fixed_string<7>\{"rotary"\}>
// rejects: setting<(cairn::)?fixed_string<5>\{"base"\}, 0\.0.*, (cairn::)?fixed_string<16>\{"above 0, finite"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/rotary.hpp"

using namespace cairn;

constexpr auto x = input<"x", 2, 3, 4, 6>;
#ifdef CAIRN_REJECT
constexpr auto y = nn::rotary<0>(x);
#else
constexpr auto y = nn::rotary<10000>(x);
#endif
static_assert(an_expression<decltype(y)>);
