// rejects: cairn \[shape-mismatch\]: matrices must be
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}
#include "cairn/misuse/table.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto body = [](auto h) { return std::tuple{matmul(h, param<"w", 4, 5>), sum(h)}; };
#else
constexpr auto body = [](auto h) { return std::tuple{matmul(h, param<"w", 5, 5>), sum(h)}; };
#endif
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(input<"h0", 4, 5>));
