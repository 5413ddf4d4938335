// rejects: cairn \[shape-mismatch\]: a recurrent layer takes \{N, T, features\}, and its cell \{N, features\}
// rejects: fact::in<cairn::fixed_string<11>\{"block.lstm"\}>
// rejects: operation<cairn::fixed_string<5>\{"lstm"\}, float ?\[8\]\[3\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/recurrent.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 8, 3>;
#else
constexpr auto x = input<"x", 8, 5, 3>;
#endif

constexpr auto y = x | block<"block">(nn::lstm<"lstm", 4>);
static_assert(an_expression<decltype(y)>);
