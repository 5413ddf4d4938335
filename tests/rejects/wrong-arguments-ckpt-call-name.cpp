// rejects: cairn \[wrong-arguments\]: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// rejects: operation<cairn::fixed_string<5>\{"ckpt"\}, cairn::fact::layer, float ?\[8\]\[16\]
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
constexpr auto loss = cross_entropy(ckpt(model, x), y);
#else
constexpr auto loss = cross_entropy(ckpt<"seg">(model, x), y);
#endif
static_assert(an_expression<decltype(loss)>);
