// rejects: cairn \[not-a-layer\]: what repeat applies returns as many values as it is given
// rejects: fact::in<cairn::fixed_string<6>\{"net\.0"\}>
// rejects: arguments<float ?\[4\]\[8\], float ?\[4\]\[8\]>, cairn::fact::results<float ?\[4\]\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// A cell that forgets to return its state.
constexpr auto cell = [](auto h, auto c) {
  const auto kept = sigmoid(h | nn::linear<"gate", 8>) * c;
#ifdef CAIRN_REJECT
  return tanh(kept);
#else
  return std::tuple{tanh(kept), kept};
#endif
};
constexpr auto stack = repeat<4, "net">([](auto) { return cell; }, input<"h", 4, 8>, input<"c", 4, 8>);
constexpr auto loss = mean(std::get<0>(stack) + std::get<1>(stack));
static_assert(an_expression<decltype(loss)>);
