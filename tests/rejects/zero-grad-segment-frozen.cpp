// rejects: cairn \[zero-grad-segment\]: nothing in this segment needs a gradient
// rejects: fact::segment<cairn::fixed_string<6>\{"b\.enc"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/softmax.hpp"

using namespace cairn;

constexpr auto encode = [](auto x) { return softmax(softmax(x * param<"k", 4>)); };
constexpr auto features = input<"x", 4> | block<"b">(ckpt<"enc">(encode));
constexpr auto loss = sum(features * param<"w", 4>);

#ifdef CAIRN_REJECT
static_assert(detail::checked<loss, freeze<"b">>());
#else
static_assert(detail::checked<loss>());
#endif
