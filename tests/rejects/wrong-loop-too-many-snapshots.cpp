// rejects: cairn \[wrong-loop\]: revolve<S> has 1 to T snapshots for T steps
// rejects: fact::given<cairn::revolve<11> ?>.*fact::iterations<10>
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<11>>(body, carried(input<"h0", 4, 5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<10>>(body, carried(input<"h0", 4, 5>));
#endif
