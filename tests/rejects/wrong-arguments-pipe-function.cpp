// rejects: cairn \[wrong-arguments\]: to the right of \| stands a layer, not a function; write x \| nn::relu
#include "cairn/misuse/table.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = x | nn::linear<"fc", 4> | relu;
#else
constexpr auto y = x | nn::linear<"fc", 4> | nn::relu;
#endif
static_assert(an_expression<decltype(y)>);
