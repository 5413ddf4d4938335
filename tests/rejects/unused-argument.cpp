// The outermost call reports this mistake.
//
// A segment keeps its arguments, which are its boundaries, for the backward pass. The body never reads this argument,
// so either the segment would keep it for nothing, or the body has a typing error. Remove the argument from the call
// and from the body, or read it.

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
