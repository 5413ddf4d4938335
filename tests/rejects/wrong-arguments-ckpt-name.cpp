// rejects: cairn \[wrong-arguments\]: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// rejects: fact::in<cairn::fixed_string<8>\{"block\.0"\}>
// rejects: operation<cairn::fixed_string<5>\{"ckpt"\}, cairn::fact::layer
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | nn::relu);
constexpr auto blocks = repeat<12, "block">([](auto) {
#ifdef CAIRN_REJECT
  return ckpt(unit);
#else
  return ckpt<"seg">(unit);
#endif
});
constexpr auto loss = cross_entropy(input<"x", 8, 16> | blocks | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
