// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<5>\{"cell"\}>
// rejects: operation<cairn::fixed_string<12>\{"add\(add, b\)"\}, float ?\[2\]\[4\], float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/matmul.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 5;
#else
constexpr int width = 4;
#endif

// A cell with two results, used again with the results of its mistake; it reads extents.
constexpr auto cell = [](auto x, auto h) {
  constexpr int in = decltype(x)::shape[-1];
  const auto next = tanh(matmul(x, param<"w", in, 4>) + h + param<"b", width>);
  return std::tuple{next, exp(next)};
};

constexpr auto loss = [] {
  auto [y0, h0] = ckpt<"cell">(cell, input<"x0", 2, 3>, input<"h", 2, 4>);
  auto [y1, h1] = ckpt<"cell">(cell, input<"x1", 2, 3>, h0);
  return mean(y0 + y1 * h1);
}();
static_assert(an_expression<decltype(loss)>);
