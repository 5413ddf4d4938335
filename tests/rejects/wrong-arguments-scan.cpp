// rejects: cairn \[wrong-arguments\]: scan takes a function, and values in this order
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, input<"h0", 4, 5>);
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));
#endif
