// rejects: cairn \[wrong-arguments\]: ckpt, block, repeat and scan take a name in <\.\.\.>: ckpt<"name">\(layer\)
// rejects: fact::in<cairn::fixed_string<12>\{"block\.0\.seg"\}>
// rejects: operation<cairn::fixed_string<6>\{"block"\}, cairn::fact::layer
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
#ifdef CAIRN_REJECT
constexpr auto unit = block(mlp);
#else
constexpr auto unit = block<"mlp">(mlp);
#endif
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
