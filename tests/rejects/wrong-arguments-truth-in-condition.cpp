// rejects: cairn \[wrong-arguments\]: if, \?:, && and ! ask for a value, and an expression has none.*write where\(x > 0_c, a, b\)
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto leaky = layer([](auto v) {
  auto slope = 1_c;
  if (v > 0_c) slope = 1_c;
  return v * slope;
});
#else
constexpr auto leaky = layer([](auto v) { return v * where(v > 0_c, 1_c, 0.1_c); });
#endif
constexpr auto out = input<"x", 4, 6> | nn::linear<"fc", 8> | leaky;
static_assert(an_expression<decltype(out)>);
