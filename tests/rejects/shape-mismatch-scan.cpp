// rejects: cairn \[shape-mismatch\]: the first axis of what stands in each\(\.\.\.\) has as many elements as scan makes steps
// rejects: fact::each<float *\[9\]>.*fact::iterations<10>
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h, auto x) { return tanh(h * param<"w", 4>) * x; };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4>), each(input<"x", 9>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4>), each(input<"x", 10>));
#endif
