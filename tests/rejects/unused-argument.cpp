// rejects: cairn \[unused-argument\]: the body of this segment never reads this argument
// rejects: fact::in<cairn::fixed_string<4>\{"enc"\}>
// rejects: argument<1>, cairn::fact::arguments<float ?\[4\], float ?\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4>;
constexpr auto mask = tanh(input<"mask", 8>);

#ifdef CAIRN_REJECT
constexpr auto y = ckpt<"enc">([](auto a, auto) { return exp(a); }, x, mask);
#else
constexpr auto y = ckpt<"enc">([](auto a, auto b) { return exp(a) * sum(b); }, x, mask);
#endif

constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
