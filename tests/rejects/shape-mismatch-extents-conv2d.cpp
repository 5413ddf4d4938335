// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant
// rejects: fact::in<cairn::fixed_string<\d+>\{"stage.conv1"\}>
// rejects: operation<cairn::fixed_string<7>\{"conv2d"\}, float ?\[8\]\[5\]\[6\]\[3\]>, cairn::fact::extents<0, 3>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int results = 0;
#else
constexpr int results = 4;
#endif

constexpr auto y = input<"x", 8, 5, 6, 3> | block<"stage">(nn::conv2d<"conv1", results, 3>);
static_assert(an_expression<decltype(y)>);
