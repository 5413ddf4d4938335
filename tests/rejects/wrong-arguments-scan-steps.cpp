// rejects: cairn \[wrong-arguments\]: scan<T, "name"> makes T steps; T is at least 1
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<0, "step">(body, carried(input<"h0", 4, 5>));
#else
[[maybe_unused]] constexpr auto h = scan<1, "step">(body, carried(input<"h0", 4, 5>));
#endif
