// rejects: cairn \[meaningless-setting\]: this setting has a value that cannot be meant
// rejects: fact::given<cairn::sgd_options>
// rejects: setting<(cairn::)?fixed_string<9>\{"nesterov"\}, 1\.0.*, (cairn::)?fixed_string<23>\{"false without momentum"\}>
#include "cairn/check/model.hpp"
#include "cairn/misuse/table.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
#ifdef CAIRN_REJECT
constexpr sgd_options descent{.lr = 0.1, .nesterov = true};
#else
constexpr sgd_options descent{.lr = 0.1, .momentum = 0.9, .nesterov = true};
#endif
static_assert(detail::checked<loss, update<descent>>());
