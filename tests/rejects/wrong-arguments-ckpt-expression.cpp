// rejects: cairn \[wrong-arguments\]: an expression stands where a layer is needed; give the layer itself
// rejects: operation<cairn::fixed_string<5>\{"ckpt"\}, float ?\[8\]\[4\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
#ifdef CAIRN_REJECT
constexpr auto logits = ckpt<"seg">(x | model);
#else
constexpr auto logits = x | ckpt<"seg">(model);
#endif
constexpr auto loss = cross_entropy(logits, y);
static_assert(an_expression<decltype(loss)>);
