// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: setting<(cairn::)?fixed_string<6>\{"decay"\}, 1\.0.*, (cairn::)?fixed_string<19>\{"0 or more, below 1"\}>
#include "cairn/check/model.hpp"
#include "cairn/misuse/table.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<averaged{sgd_options{}, 1}>>());
#else
static_assert(detail::checked<loss, update<averaged{sgd_options{}, 0.999}>>());
#endif
