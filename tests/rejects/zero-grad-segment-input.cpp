// rejects: cairn \[zero-grad-segment\]: nothing in this segment needs a gradient.*write block, or allow_useless
// rejects: fact::segment<cairn::fixed_string<4>\{"enc"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto features = ckpt<"enc">([](auto x) { return exp(x); }, input<"x", 4>);
#else
constexpr auto features = block<"enc">([](auto x) { return exp(x); })(input<"x", 4>);
#endif

constexpr auto loss = sum(features * param<"w", 4>);
static_assert(detail::checked<loss>());
