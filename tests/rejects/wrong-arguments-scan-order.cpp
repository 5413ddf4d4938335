// rejects: cairn \[wrong-arguments\]: scan takes a function, and values in this order
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h, auto x) { return tanh(h * param<"w", 5> + x); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, each(input<"x", 10, 5>), carried(input<"h0", 5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 5>), each(input<"x", 10, 5>));
#endif
