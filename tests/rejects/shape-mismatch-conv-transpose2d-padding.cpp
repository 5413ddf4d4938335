// rejects: cairn \[shape-mismatch\]: padding leaves nothing of what the transposed filter makes
// rejects: fact::in<cairn::fixed_string<3>\{"up"\}>
// rejects: operation<cairn::fixed_string<17>\{"conv_transpose2d"\}, float ?\[8\]\[5\]\[6\]\[3\]
// rejects: extents<4, 2>, cairn::fact::stride_pad_dilate_groups<1, 3, 1, 1>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int padding = 3;
#else
constexpr int padding = 2;
#endif

constexpr auto y = input<"x", 8, 5, 6, 3> | nn::conv_transpose2d<"up", 4, 2, nn::window{.padding = padding}>;
static_assert(an_expression<decltype(y)>);
