// rejects: cairn \[wrong-arguments\]: to the right of \| stands a layer, not an expression; write x \| layer
// rejects: operation<cairn::fixed_string<2>\{"\|"\}, float ?\[8\]\[16\], float ?\[8\]\[16\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
#ifdef CAIRN_REJECT
constexpr auto h = x | relu(x);
#else
constexpr auto h = relu(x);
#endif
constexpr auto loss = cross_entropy(h | nn::linear<"head", 4>, y);
static_assert(an_expression<decltype(loss)>);
