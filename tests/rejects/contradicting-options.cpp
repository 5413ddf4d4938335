// rejects: cairn \[contradicting-options\]: gradients cannot be summed over steps where each step uses them up
// rejects: fact::given<cairn::accumulate_gradients>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, accumulate_gradients, update<sgd_options{}>>());
#else
static_assert(detail::checked<loss, accumulate_gradients>());
#endif
