// rejects: cairn \[shape-mismatch\]: the shapes must be equal; change the argument that differs
// rejects: operation<cairn::fixed_string<11>\{"mse\(fc, x\)"\}, float ?\[4\]\[4\]\[6\], float ?\[4\]\[6\]>
// rejects: axes_added_by<cairn::fixed_string<6>\{"slope"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto slope = param<"slope", 4, 1, 1>;
#else
constexpr auto slope = param<"slope", 4, 1>;
#endif
constexpr auto x = input<"x", 4, 6>;
constexpr auto scaled = layer([](auto h) { return h * slope; });
constexpr auto loss = mse(ckpt<"scale">(scaled, x) | nn::linear<"fc", 6>, x);
static_assert(an_expression<decltype(loss)>);
