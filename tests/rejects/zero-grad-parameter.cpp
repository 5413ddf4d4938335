// The program reports this mistake.
//
// An optimizer would leave this parameter as it is, or would only decay it. Either no operation reads the parameter, or
// only operations behind `detach` do. Remove the parameter, or name it in `freeze<...>`, which says that the parameter
// is meant to stay as it is.

#include "cairn/check/model.hpp"

using namespace cairn;

// case: zero-grad-parameter
// says: no gradient of the loss reaches this parameter.*name it in freeze<\.\.\.> or remove it
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>
constexpr auto gate = detach(param<"w", 4>);  // wrong
constexpr auto gate = frozen<"w", 4>;         // right
constexpr auto loss = sum(param<"v", 4> * gate);
static_assert(detail::checked<loss>());
