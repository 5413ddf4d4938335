// rejects: cairn \[wrong-loop\]: revolve<S> has .*segment_every<P>, two_level<P, S> periods of 1 to T, and 1 to P snapshots
// rejects: fact::given<cairn::two_level<3, 4[^>]*>
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
#ifdef CAIRN_REJECT
[[maybe_unused]] constexpr auto h = scan<10, "step", two_level<3, 4>>(body, carried(input<"h0", 4, 5>));
#else
[[maybe_unused]] constexpr auto h = scan<10, "step", two_level<4, 3>>(body, carried(input<"h0", 4, 5>));
#endif
