// rejects: cairn \[shape-mismatch\]: a slice is one or more elements \[begin, end\) of an axis that exists
// rejects: fact::in<cairn::fixed_string<5>\{"cell"\}>
// rejects: operation<cairn::fixed_string<13>\{"slice\(gates\)"\}, float ?\[8\]\[24\]>
// rejects: slice<-1, 12, -12>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int begin = 12;
#else
constexpr int begin = 0;
#endif

constexpr auto cell = [](auto h) {
  const auto gates = h | nn::linear<"gates", 24>;
  return sigmoid(slice<-1, begin, -12>(gates)) * tanh(slice<-1, 12, 24>(gates));
};
constexpr auto loss = cross_entropy(ckpt<"cell">(cell, input<"x", 8, 16>) | nn::linear<"head", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
