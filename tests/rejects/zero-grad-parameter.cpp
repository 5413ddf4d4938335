// rejects: cairn \[zero-grad-parameter\]: no gradient of the loss reaches this parameter.*name it in freeze<\.\.\.> or remove it
// rejects: fact::parameter<cairn::fixed_string<2>\{"w"\}>
#include "cairn/core/diagnose.hpp"
#include "cairn/exec/plan.hpp"

using namespace cairn;

constexpr auto loss = sum(param<"v", 4> * detach(param<"w", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss>());
#else
static_assert(detail::checked<loss, freeze<"w">>());
#endif
