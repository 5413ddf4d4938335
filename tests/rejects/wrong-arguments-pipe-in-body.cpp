// rejects: cairn \[wrong-arguments\]: to the right of \| stands a layer, not an expression; write x \| layer
// rejects: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// rejects: operation<cairn::fixed_string<2>\{"\|"\}, cairn::fact::layer, float ?\[8\]\[16\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto gate = layer([](auto h) {
#ifdef CAIRN_REJECT
  return nn::sigmoid | h;
#else
  return h | nn::sigmoid;
#endif
});
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | gate);
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
