// rejects: cairn \[wrong-arguments\]: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// rejects: operation<cairn::fixed_string<4>\{"mul"\}, float, cairn::fact::layer
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto gate = layer([](auto h) { return h * sigmoid(h); });
#ifdef CAIRN_REJECT
constexpr auto half = 0.5_c * gate;
#else
constexpr auto half = layer([](auto h) { return 0.5_c * gate(h); });
#endif
constexpr auto model = nn::linear<"in", 16> | half | nn::linear<"head", 4>;
constexpr auto loss = mean(input<"x", 8, 16> | model);
static_assert(an_expression<decltype(loss)>);
