// The program reports this mistake.
//
// A state has one value at the end of a step. If a `batch_norm` is applied twice, both applications update its running
// statistics. Rename one of the two, or put them into different blocks. A predictor updates nothing, so a predictor may
// share the layer.

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
