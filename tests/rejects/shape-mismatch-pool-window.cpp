// rejects: cairn \[shape-mismatch\]: a window<extent, stride, padding> lies in the padded image
// rejects: fact::in<cairn::fixed_string<5>\{"down"\}>
// rejects: operation<cairn::fixed_string<23>\{"max_pool2d\(argument 0\)"\}, float ?\[8\]\[5\]\[6\]\[3\]>
// rejects: window<6, 6, 0>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int extent = 6;
#else
constexpr int extent = 5;
#endif

constexpr auto y = input<"x", 8, 5, 6, 3> | block<"down">(nn::max_pool2d<extent>);
static_assert(an_expression<decltype(y)>);
