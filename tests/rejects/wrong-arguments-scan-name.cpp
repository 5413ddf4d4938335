// rejects: cairn \[wrong-arguments\]: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10>(body, carried(input<"h0", 4, 5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));
#endif
