// rejects: cairn \[wrong-arguments\]: repeat<N, "name"> applies a layer N times; N is at least 1
// rejects: fact::in<cairn::fixed_string<6>\{"block"\}>
// rejects: fact::iterations<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto unit = ckpt<"seg">(nn::linear<"up", 16> | nn::relu);
#ifdef CAIRN_REJECT
constexpr auto blocks = repeat<0, "block">([](auto) { return unit; });
#else
constexpr auto blocks = repeat<1, "block">([](auto) { return unit; });
#endif
constexpr auto loss = cross_entropy(input<"x", 8, 16> | blocks | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
