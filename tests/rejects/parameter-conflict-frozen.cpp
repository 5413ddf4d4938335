// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::parameter<cairn::fixed_string<2>\{"w"\}>.*fact::trained<true>.*fact::trained<false>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

// The same shape, but trained here and frozen there.
#ifdef CAIRN_REJECT
constexpr auto twin = frozen<"w", 4>;
#else
constexpr auto twin = param<"w", 4>;
#endif

constexpr auto loss = sum(param<"w", 4> * twin);
static_assert(detail::checked<loss>());
