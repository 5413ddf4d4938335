// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: operation<cairn::fixed_string<5>\{"gelu"\}, int ?\[4\]>
// rejects: takes<float>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto words = labels<"words", 8, 4>;
#else
constexpr auto words = input<"words", 4>;
#endif

constexpr auto loss = mean(words | ckpt<"enc">(nn::gelu));
static_assert(an_expression<decltype(loss)>);
