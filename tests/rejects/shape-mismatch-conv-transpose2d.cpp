// rejects: cairn \[shape-mismatch\]: images \{N, H, W, C\} take transposed filters \{C, O / groups, rows, columns\}
// rejects: operation<cairn::fixed_string<\d+>\{"conv_transpose2d\(x, w\)"\}, float ?\[8\]\[5\]\[6\]\[3\], float ?\[4\]\[3\]\[2\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/convolution.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto w = param<"w", 4, 3, 2, 2>;
#else
constexpr auto w = param<"w", 3, 4, 2, 2>;
#endif

constexpr auto y = conv_transpose2d<nn::window{.stride = 2}>(input<"x", 8, 5, 6, 3>, w);
static_assert(an_expression<decltype(y)>);
