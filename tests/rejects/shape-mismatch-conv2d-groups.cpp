// rejects: cairn \[shape-mismatch\]: groups divide the channels read and the channels made
// rejects: fact::in<cairn::fixed_string<\d+>\{"conv1"\}>
// rejects: stride_pad_dilate_groups<1, 1, 1, 4>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int groups = 4;
#else
constexpr int groups = 3;
#endif

constexpr auto y = input<"x", 8, 5, 7, 6> | nn::conv2d<"conv1", 12, 3, nn::window{.padding = 1, .groups = groups}>;
static_assert(an_expression<decltype(y)>);
