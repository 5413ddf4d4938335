// rejects: cairn \[not-a-layer\]: several layers are no layer; write a \| b \| c
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/nn/activation.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
#ifdef CAIRN_REJECT
constexpr auto y = x | std::array{nn::tanh, nn::tanh};
#else
constexpr auto y = x | repeat<2, "layer">([](auto) { return nn::tanh; });
#endif
static_assert(an_expression<decltype(y)>);
