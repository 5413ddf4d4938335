// rejects: cairn \[shape-mismatch\]: images \{N, H, W, C\} take filters \{O, C / groups, rows, columns\}
// rejects: fact::in<cairn::fixed_string<2>\{"c"\}>
// rejects: operation<cairn::fixed_string<\d+>\{"conv2d\(argument 0, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\], float ?\[4\]\[6\]\[3\]\[3\]>
// rejects: stride_pad_dilate_groups<2, 1, 1, 1>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int channels = 6;
#else
constexpr int channels = 3;
#endif

constexpr auto filtered = [](auto x) {
  return conv2d<nn::window{.stride = 2, .padding = 1}>(x, param<"w", 4, channels, 3, 3>);
};
constexpr auto y = input<"x", 8, 5, 6, 3> | ckpt<"c">(layer(filtered) | nn::relu);
static_assert(an_expression<decltype(y)>);
