// rejects: cairn \[wrong-arguments\]: this takes two expressions or more: concatenate<1>\(a, b\)
// rejects: fact::in<cairn::fixed_string<5>\{"join"\}>
// rejects: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[8\]\[16\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto join = layer([](auto h) {
#ifdef CAIRN_REJECT
  return concatenate<1>(h);
#else
  return concatenate<1>(h, tanh(h));
#endif
});
constexpr auto model = block<"join">(join) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
