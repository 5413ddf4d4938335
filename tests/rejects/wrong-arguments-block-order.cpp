// rejects: cairn \[wrong-arguments\]: ckpt, block and repeat take a function, then the expressions to call it with
// rejects: operation<cairn::fixed_string<6>\{"block"\}, float ?\[8\]\[16\], cairn::fact::layer
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
#ifdef CAIRN_REJECT
constexpr auto logits = block<"enc">(x, model);
#else
constexpr auto logits = block<"enc">(model, x);
#endif
constexpr auto loss = cross_entropy(logits, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);
