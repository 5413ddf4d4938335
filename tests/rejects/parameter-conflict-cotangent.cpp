// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto y = input<"x", 4> * param<"w", 4>;

#ifdef CAIRN_REJECT
using given = cotangent<"x">;
#else
using given = cotangent<"v">;
#endif
static_assert(detail::checked<y, given>());
