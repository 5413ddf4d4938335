// rejects: cairn \[shape-mismatch\]: this layer takes \{..., rows, features\}; reshape its argument
// rejects: fact::in<cairn::fixed_string<8>\{"flatten"\}>
// rejects: operation<cairn::fixed_string<8>\{"flatten"\}, float ?\[90\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/flatten.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 90>;
#else
constexpr auto x = input<"x", 5, 6, 3>;
#endif

constexpr auto y = x | nn::flatten;
static_assert(an_expression<decltype(y)>);
