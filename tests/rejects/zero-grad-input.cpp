// The program reports this mistake.
//
// `wrt<...>` asks for the gradient of an input that the gradient of the loss does not reach. Either only other outputs
// read the input, or the input is behind `detach`. Take the input out of `wrt<...>`.

#include "cairn/check/model.hpp"

using namespace cairn;

// case: zero-grad-input
// says: no gradient of the loss reaches this input.*take it out of wrt<
// shows: fact::input<cairn::fixed_string<5>\{"mask"\}>
constexpr auto mask = detach(tanh(input<"mask", 4>));  // wrong
constexpr auto mask = tanh(input<"mask", 4>);          // right
constexpr auto loss = sum(mask * param<"w", 4>);
static_assert(detail::checked<loss, wrt<"mask">>());
