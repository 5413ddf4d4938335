// The program reports this mistake.
//
// Each shard of a batch leaves a next value of a state. `updated<shard_join::mean>(value, state, next)` says that the
// state becomes the mean of them. `maximum` stands for the largest number at each element, and `last` for the value of
// the last shard. A batch norm takes the mean of the running statistics with
// `nn::batch_norm_options{.statistics = nn::batch_statistics::local}`, or computes them over the rows of all shards with
// `synchronized`. `microbatch<N>` needs none of this, because its parts update the state one after another.

#include "cairn/check/model.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: state-in-shards
// says: the shards leave different values of this state; say how they are joined
// shows: fact::state<cairn::fixed_string<16>\{"bn\.running_mean"\}>
constexpr nn::batch_norm_options how{};                                             // wrong
constexpr nn::batch_norm_options how{.statistics = nn::batch_statistics::local};  // right
constexpr auto loss = mean(square(input<"x", 8, 4> | nn::batch_norm<"bn", how> | nn::linear<"fc", 2>));
static_assert(detail::checked<loss, shards<4>>());

// case: state-in-shards-updated
// says: the shards leave different values of this state; say how they are joined
// shows: fact::state<cairn::fixed_string<5>\{"most"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto most = state<"most", initial{}>;
constexpr auto next = maximum(most, max(x));
constexpr auto seen = updated(x, most, next);                       // wrong
constexpr auto seen = updated<shard_join::maximum>(x, most, next);  // right
static_assert(detail::checked<mean(square(seen | nn::linear<"fc", 2>)), shards<4>, microbatch<2>>());
