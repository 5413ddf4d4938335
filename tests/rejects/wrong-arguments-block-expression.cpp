// rejects: cairn \[wrong-arguments\]: an expression stands where a layer is needed; give the layer itself
// rejects: fact::in<cairn::fixed_string<12>\{"block\.0\.seg"\}>
// rejects: operation<cairn::fixed_string<6>\{"block"\}, float ?\[8\]\[16\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
constexpr auto unit = layer([](auto h) {
#ifdef CAIRN_REJECT
  return block<"mlp">(mlp(h));
#else
  return block<"mlp">(mlp)(h);
#endif
});
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
