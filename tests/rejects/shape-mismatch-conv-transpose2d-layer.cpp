// rejects: cairn \[shape-mismatch\]: groups divide the channels read and the channels made
// rejects: fact::in<cairn::fixed_string<\d+>\{"up"\}>
// rejects: operation<cairn::fixed_string<\d+>\{"conv_transpose2d"\}, float ?\[8\]\[5\]\[6\]\[4\]>
// rejects: stride_pad_dilate_groups<2, 0, 1, 4>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int groups = 4;
#else
constexpr int groups = 2;
#endif

constexpr nn::window doubling{.stride = 2, .groups = groups};
constexpr auto y = input<"x", 8, 5, 6, 4> | nn::conv_transpose2d<"up", 6, 2, doubling>;
static_assert(an_expression<decltype(y)>);
