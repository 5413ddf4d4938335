// rejects: cairn \[zero-grad-input\]: no gradient of the loss reaches this input.*take it out of wrt<
// rejects: fact::input<cairn::fixed_string<5>\{"mask"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto mask = detach(tanh(input<"mask", 4>));
#else
constexpr auto mask = tanh(input<"mask", 4>);
#endif
constexpr auto loss = sum(mask * param<"w", 4>);
static_assert(detail::checked<loss, wrt<"mask">>());
