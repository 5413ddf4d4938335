// PROSE

#include "cairn/check/model.hpp"

using namespace cairn;

// case: zero-grad-parameter
// says: no gradient of the loss reaches this parameter.*name it in freeze<\.\.\.> or remove it
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>
constexpr auto gate = detach(param<"w", 4>);  // wrong
constexpr auto gate = frozen<"w", 4>;         // right
constexpr auto loss = sum(param<"v", 4> * gate);
static_assert(detail::checked<loss>());
