// rejects: cairn \[zero-grad-segment\]: nothing in this segment needs a gradient
// rejects: fact::segment<cairn::fixed_string<4>\{"enc"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/softmax.hpp"

using namespace cairn;

constexpr auto encode = [](auto x) { return softmax(softmax(x * param<"w", 4>)); };
constexpr auto features = ckpt<"enc">(encode, input<"x", 4>);

#ifdef CAIRN_REJECT
constexpr auto loss = sum(detach(features) * param<"w", 4>);  // w itself gets a gradient
#else
constexpr auto loss = sum(features * detach(features) * param<"w", 4>);
#endif

static_assert(detail::checked<loss>());
