// rejects: cairn \[wrong-arguments\]: the window of a pool has stride and padding alone
// rejects: dilation<2>, cairn::fact::groups<1>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/pool.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr nn::window apart{.dilation = 2};
#else
constexpr nn::window apart{.stride = 2};
#endif

constexpr auto y = max_pool2d<2, apart>(input<"x", 1, 28, 28, 3>);
static_assert(an_expression<decltype(y)>);
