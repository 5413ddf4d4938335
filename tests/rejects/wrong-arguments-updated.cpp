// rejects: cairn \[wrong-arguments\]: what becomes another value when a step is over is a state
// rejects: fact::in<cairn::fixed_string<\d+>\{"block"\}>
// rejects: operation<cairn::fixed_string<8>\{"updated"\}, float ?\[8\]\[3\], float ?\[3\], float ?\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/lang/state.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto largest = param<"largest", 3>;
#else
constexpr auto largest = state<"largest", initial{}, 3>;
#endif

constexpr auto tracked = [](auto x) { return updated(x, largest, maximum(largest, mean<0>(x))); };
constexpr auto y = input<"x", 8, 3> | block<"block">(layer(tracked));
static_assert(an_expression<decltype(y)>);
