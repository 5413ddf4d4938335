// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: fact::in<cairn::fixed_string<\d+>\{"s"\}>.*operation<cairn::fixed_string<5>\{"grad"\}, float, int ?\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto slope = [](auto h, auto y) {
#ifdef CAIRN_REJECT
  return grad(cross_entropy(h, y), y);
#else
  return grad(cross_entropy(h, y), h);
#endif
};
constexpr auto h = ckpt<"s">(slope, input<"x", 8, 3> | nn::linear<"fc", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(h)>);
