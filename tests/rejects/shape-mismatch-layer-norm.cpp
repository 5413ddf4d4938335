// rejects: cairn \[shape-mismatch\]: this layer takes \{..., rows, features\}; reshape its argument
// rejects: fact::in<cairn::fixed_string<9>\{"block.ln"\}>
// rejects: operation<cairn::fixed_string<11>\{"layer_norm"\}, float ?\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/norm.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 3>;
#else
constexpr auto x = input<"x", 1, 3>;
#endif

constexpr auto y = x | block<"block">(nn::layer_norm<"ln">);
static_assert(an_expression<decltype(y)>);
