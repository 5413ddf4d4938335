// rejects: cairn \[wrong-arguments\]: this takes two arguments: cross_entropy\(logits, labels\)
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[8\]\[4\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto logits = x | nn::linear<"head", 4>;
#ifdef CAIRN_REJECT
constexpr auto loss = cross_entropy(logits);
#else
constexpr auto loss = cross_entropy(logits, y);
#endif
static_assert(an_expression<decltype(loss)>);
