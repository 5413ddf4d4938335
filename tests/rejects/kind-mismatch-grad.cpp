// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or class indices \(int\)
// rejects: operation<cairn::fixed_string<5>\{"grad"\}, float, float ?\[8\]\[4\], int ?\[8\]>
#include "cairn/core/diagnose.hpp"
#include "cairn/core/rules.hpp"
#include "cairn/expr/gradient.hpp"
#include "cairn/expr/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto slopes = [](auto h, auto y) {
#ifdef CAIRN_REJECT
  const auto [by_h, by_y] = grad(cross_entropy(h, y), h, y);
  return by_h + by_y;
#else
  return grad(cross_entropy(h, y), h);
#endif
};
constexpr auto h = slopes(input<"x", 8, 3> | nn::linear<"fc", 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(h)>);
