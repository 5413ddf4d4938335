// rejects: cairn \[wrong-probability\]: elements are dropped with a probability from 0 to below 1
// rejects: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
// rejects: operation<cairn::fixed_string<25>\{"dropout\(argument 0, \.\.\.\)"\}, float ?\[4\]\[8\]
// rejects: fact::probability<1\.
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/nn/dropout.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr double probability = 1;
#else
constexpr double probability = 0.99;
#endif

constexpr auto body = [](auto) { return ckpt<"ff">(nn::dropout<"d", probability>); };
constexpr auto loss = sum(input<"x", 4, 8> | repeat<2, "block">(body));
static_assert(an_expression<decltype(loss)>);
