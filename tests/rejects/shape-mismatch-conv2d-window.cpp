// rejects: cairn \[shape-mismatch\]: a filter, dilated, is no larger than the image, padded
// rejects: fact::in<cairn::fixed_string<\d+>\{"stage.conv1"\}>
// rejects: operation<cairn::fixed_string<\d+>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]
// rejects: stride_pad_dilate_groups<1, 0, 3, 1>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int dilation = 3;
#else
constexpr int dilation = 2;
#endif

constexpr auto y = input<"x", 8, 5, 6, 3> | block<"stage">(nn::conv2d<"conv1", 8, 3, nn::window{.dilation = dilation}>);
static_assert(an_expression<decltype(y)>);
