// rejects: cairn \[wrong-loop\]: a gradient of a gradient goes through this loop
#include "cairn/misuse/table.hpp"
#include "cairn/check/scan.hpp"
#include "cairn/run/scan.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4, 5>;
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
constexpr auto y = mean(square(scan<10, "step">(body, carried(x))));
#ifdef CAIRN_REJECT
constexpr auto loss = y + mean(square(grad(y, x)));
#else
constexpr auto loss = y + mean(square(grad(mean(square(x) * param<"a", 5>), x)));
#endif

static_assert(detail::checked<loss>());
