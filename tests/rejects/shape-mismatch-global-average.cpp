// rejects: cairn \[shape-mismatch\]: this takes images \{N, H, W, C\}
// rejects: fact::in<cairn::fixed_string<5>\{"head"\}>
// rejects: operation<cairn::fixed_string<15>\{"global_average"\}, float ?\[8\]\[30\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 8, 30, 3>;
#else
constexpr auto x = input<"x", 8, 5, 6, 3>;
#endif

constexpr auto y = x | block<"head">(nn::global_average);
static_assert(an_expression<decltype(y)>);
