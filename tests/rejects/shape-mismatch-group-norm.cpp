// rejects: cairn \[shape-mismatch\]: groups divide the channels read and the channels made
// rejects: fact::in<cairn::fixed_string<3>\{"gn"\}>
// rejects: group_norm.*float ?\[8\]\[5\]\[6\]
// rejects: groups<4>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/norm.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int groups = 4;
#else
constexpr int groups = 3;
#endif

constexpr auto y = input<"x", 8, 5, 6> | nn::group_norm<"gn", groups>;
static_assert(an_expression<decltype(y)>);
