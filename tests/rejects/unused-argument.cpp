// PROSE

#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

// case: unused-argument
// says: the body of this segment never reads this argument
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
// shows: argument<1>, cairn::fact::arguments<float ?\[4\], float ?\[8\]>
constexpr auto x = input<"x", 4>;
constexpr auto mask = tanh(input<"mask", 8>);
constexpr auto y = ckpt<"enc">([](auto a, auto) { return exp(a); }, x, mask);             // wrong
constexpr auto y = ckpt<"enc">([](auto a, auto b) { return exp(a) * sum(b); }, x, mask);  // right
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
