// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves.*rename one
// rejects: fact::parameter<cairn::fixed_string<2>\{"w"\}>
// rejects: given<float ?\[4\]>
// rejects: given<float ?\[3\]\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr fixed_string name = "w";
#else
constexpr fixed_string name = "v";
#endif

constexpr auto loss = sum(param<"w", 4> * param<name, 3, 4>);
static_assert(detail::checked<loss>());
