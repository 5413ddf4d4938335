// rejects: cairn \[shape-mismatch\]: a window<extent, stride, padding> lies in the padded image
// rejects: operation<cairn::fixed_string<14>\{"avg_pool2d\(x\)"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// rejects: window<3, 2, 2>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int padding = 2;
#else
constexpr int padding = 1;
#endif

constexpr auto y = avg_pool2d<3, nn::window{.stride = 2, .padding = padding}>(input<"x", 8, 5, 6, 3>);
static_assert(an_expression<decltype(y)>);
