// rejects: cairn \[zero-grad-segment\]: nothing in this segment needs a gradient
// rejects: fact::segment<cairn::fixed_string<6>\{"probe"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto features = input<"x", 4> * param<"w", 4>;
constexpr auto probe = [](auto x) { return exp(x); };
constexpr auto loss = sum(features);

#ifdef CAIRN_REJECT
constexpr auto results = outputs(loss, ckpt<"probe">(probe, features));  // the loss does not depend on it
#else
constexpr auto results = outputs(loss, block<"probe">(probe)(features));
#endif

static_assert(detail::checked<results>());
