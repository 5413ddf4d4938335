// rejects: cairn \[shape-mismatch\]: the shapes must be equal
// rejects: operation<cairn::fixed_string<16>\{"mse\(fc, wanted\)"\}, float ?\[4\]\[3\], float ?\[4\]\[1\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 1;  // would broadcast
#else
constexpr int width = 3;
#endif

constexpr auto loss = mse(input<"x", 4, 8> | nn::linear<"fc", 3>, input<"wanted", 4, width>);
static_assert(an_expression<decltype(loss)>);
