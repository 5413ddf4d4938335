// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: operation<(cairn::)?fixed_string<11>\{"leaky_relu"\}>
// rejects: setting<(cairn::)?fixed_string<6>\{"slope"\}, .*, (cairn::)?fixed_string<16>\{"a finite number"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/comparison.hpp"

#include <limits>

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
#ifdef CAIRN_REJECT
constexpr auto y = leaky_relu<std::numeric_limits<double>::infinity()>(x);
#else
constexpr auto y = leaky_relu<-0.2>(x);
#endif
static_assert(an_expression<decltype(y)>);
