// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// rejects: fact::in<cairn::fixed_string<19>\{"block\.0\.seg\.mlp\.up"\}>
// rejects: operation<cairn::fixed_string<7>\{"linear"\}, float ?\[8\]\[16\]
// rejects: fact::extents<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto unit = block<"mlp">(nn::linear<"up", 0> | nn::relu);
#else
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | nn::relu);
#endif
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
