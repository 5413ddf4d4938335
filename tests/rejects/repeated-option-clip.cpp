// rejects: cairn \[repeated-option\]: a program has one such option, and this is its second; leave one out
// rejects: given<cairn::clip_value<
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, update<sgd_options{}>, clip<1.0>, clip_value<0.5>>());
#else
static_assert(detail::checked<loss, update<sgd_options{}>, clip<1.0>>());
#endif
