// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments: sum<-1>\(x\)
// rejects: fact::in<cairn::fixed_string<16>\{"block\.0\.seg\.mlp"\}>
// rejects: operation<cairn::fixed_string<4>\{"sum"\}, float ?\[8\]\[16\], int
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto gate = layer([](auto h) {
#ifdef CAIRN_REJECT
  return h - sum(h, -1);
#else
  return h - sum<-1>(h, keepdim);
#endif
});
constexpr auto unit = block<"mlp">(nn::linear<"up", 16> | gate);
constexpr auto model = repeat<12, "block">([](auto) { return ckpt<"seg">(unit); }) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
