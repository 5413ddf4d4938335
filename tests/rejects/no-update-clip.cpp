// rejects: cairn \[no-update\]: gradients are clipped where the step uses them: clip<\.\.\.> goes with update<\.\.\.>
// rejects: fact::operation<cairn::fixed_string<5>\{"clip"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, clip<1.0>>());
#else
static_assert(detail::checked<loss, clip<1>, update<sgd_options{}>>());
#endif
