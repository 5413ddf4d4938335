// rejects: cairn \[detached-in-segment\]: this segment contains a detach.*detach outside and pass the result as an argument
// rejects: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/activation.hpp"

using namespace cairn;

// The layer knows nothing of the segment that it is used in two levels up.
constexpr auto normalized = [](auto x) {
#ifdef CAIRN_REJECT
  return x / detach(sum<-1>(x * x, keepdim));
#else
  return x / sum<-1>(x * x, keepdim);
#endif
};
constexpr auto inner = nn::linear<"fc", 8> | layer(normalized) | nn::relu;
constexpr auto model = repeat<4, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); }) | nn::linear<"head", 2>;
constexpr auto loss = mean(input<"x", 4, 8> | model);
static_assert(an_expression<decltype(loss)>);
