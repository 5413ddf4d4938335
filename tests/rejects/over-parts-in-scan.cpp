// The program reports this mistake.
//
// `over_parts(count)` is computed for the whole batch before the first part runs. In the body of a scan, each iteration
// would have a count of its own. `cross_entropy` with weights or with labels that are ignored contains such a count.
// Collect the logits in the scan, and compute the loss behind it.

#include "cairn/check/scan.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/run/scan.hpp"

using namespace cairn;

// case: over-parts-in-scan-in-loop
// says: over_parts counts over the whole batch before the first microbatch
// shows: over_parts
constexpr auto m = input<"m", 5, 8>;
constexpr auto w = param<"w", 8>;
constexpr auto body = [](auto loss, auto row) { return loss + sum(row * w) / over_parts(sum(row)); };  // wrong
constexpr auto body = [](auto loss, auto row) { return loss + sum(row * w); };                         // right
constexpr auto summed = scan<5, "step">(body, carried(zeros<>), each(m));
constexpr auto loss = summed;                        // wrong
constexpr auto loss = summed / over_parts(sum(m));  // right
static_assert(detail::checked<loss, microbatch<4>>());
