// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments: .*slice<1, 0, 4>\(x\)
// rejects: fact::in<cairn::fixed_string<5>\{"half"\}>
// rejects: operation<cairn::fixed_string<6>\{"slice"\}, float ?\[8\]\[16\], int, int>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto half = layer([](auto h) {
#ifdef CAIRN_REJECT
  return slice<1>(h, 0, 8);
#else
  return slice<1, 0, 8>(h);
#endif
});
constexpr auto model = block<"half">(half) | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
