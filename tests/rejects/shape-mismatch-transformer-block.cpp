// rejects: cairn \[shape-mismatch\]: layers of attention take \{N, T, features\}: heads divide the features
// rejects: operation<cairn::fixed_string<\d+>\{"transformer_block"\}, float ?\[2\]\[7\]\[12\]>
// rejects: fact::heads<5, 5>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/transformer.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int heads = 5;
#else
constexpr int heads = 6;
#endif

constexpr auto y = input<"x", 2, 7, 12> | nn::transformer_block<heads>;
static_assert(an_expression<decltype(y)>);
