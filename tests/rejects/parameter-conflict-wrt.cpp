// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>, cairn::fact::parameter<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr fixed_string name = "x";
#else
constexpr fixed_string name = "w";
#endif
constexpr auto loss = sum(input<"x", 4> * param<name, 4>);
static_assert(detail::checked<loss, wrt<"x">>());
