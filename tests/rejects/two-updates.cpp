// PROSE

#include "cairn/check/model.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: two-updates
// says: a step would update this state to two different values.*rename one
// shows: fact::state<cairn::fixed_string<15>\{"bn.running_var"\}>
constexpr auto second = shared(nn::batch_norm<"bn">);  // wrong
constexpr auto second = nn::batch_norm<"bn2">;         // right
constexpr auto hidden = input<"x", 8, 3> | nn::linear<"fc1", 16> | nn::batch_norm<"bn">;
constexpr auto loss = sum(hidden | nn::linear<"fc2", 16> | second);
static_assert(detail::checked<loss>());
