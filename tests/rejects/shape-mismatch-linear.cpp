// rejects: cairn \[shape-mismatch\]: this layer takes .*rows, features
// rejects: fact::in<cairn::fixed_string<3>\{"fc"\}>
// rejects: operation<cairn::fixed_string<7>\{"linear"\}, float ?\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = input<"x", 8>;
#else
constexpr auto x = input<"x", 1, 8>;
#endif

constexpr auto loss = mean(x | nn::linear<"fc", 3>);
static_assert(an_expression<decltype(loss)>);
