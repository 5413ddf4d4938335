// rejects: cairn \[shape-mismatch\]: a window has no stride or padding below 0, and no dilation or groups below 1
// rejects: operation<cairn::fixed_string<13>\{"conv2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\]
// rejects: stride_pad_dilate_groups<1, 0, 1, 0>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int groups = 0;
#else
constexpr int groups = 1;
#endif

constexpr auto y = conv2d<nn::window{.groups = groups}>(input<"x", 8, 5, 6, 3>, param<"w", 4, 3, 2, 2>);
static_assert(an_expression<decltype(y)>);
