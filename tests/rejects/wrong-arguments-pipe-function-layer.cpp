// rejects: cairn \[wrong-arguments\]: to the right of \| stands a layer, not a function; write x \| nn::relu
#include "cairn/misuse/table.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto unit = nn::linear<"fc1", 4> | softmax | nn::linear<"fc2", 4>;
#else
constexpr auto unit = nn::linear<"fc1", 4> | nn::softmax | nn::linear<"fc2", 4>;
#endif
constexpr auto y = x | unit;
static_assert(an_expression<decltype(y)>);
