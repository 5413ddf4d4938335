// rejects: cairn \[wrong-loop\]: the body of scan returns less than is carried.*std::tuple
// rejects: fact::in<cairn::fixed_string<5>\{"step"\}
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/scan.hpp"

using namespace cairn;

constexpr auto h0 = input<"h0", 4, 5>;
constexpr auto c0 = input<"c0", 4, 5>;
constexpr auto cell = [](auto h, auto c) {
  const auto next = sigmoid(h * param<"w", 5>) * c;
#ifdef CAIRN_REJECT
  return tanh(next);
#else
  return std::tuple{tanh(next), next};
#endif
};
[[maybe_unused]] constexpr auto h = scan<10, "step">(cell, carried(h0, c0));
