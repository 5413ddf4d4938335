// rejects: cairn \[wrong-arguments\]: an expression stands where a layer is needed; give the layer itself
// rejects: operation<cairn::fixed_string<7>\{"shared"\}, float ?\[8\]\[16\]
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto mlp = nn::linear<"up", 16> | nn::relu;
#ifdef CAIRN_REJECT
constexpr auto unit = shared(x | mlp);
#else
constexpr auto unit = shared(mlp);
#endif
constexpr auto model = mlp | unit | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);
static_assert(an_expression<decltype(loss)>);
