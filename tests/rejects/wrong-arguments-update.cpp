// rejects: cairn \[wrong-arguments\]: a rule is an object with lr, moments, numbers\(lr, step\)
// rejects: fact::given<double>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<0.1>>());
#else
static_assert(detail::checked<loss, update<sgd_options{.lr = 0.1}>>());
#endif
