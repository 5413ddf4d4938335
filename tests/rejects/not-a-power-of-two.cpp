// The program reports this mistake.
//
// `shards<L>` sums the gradients of L shards in a binary tree, so that L is 2, 4, 8 or another power of two. For any
// other number of parts, write `microbatch<N>`.

#include "cairn/check/model.hpp"

using namespace cairn;

// shared: a model
constexpr auto loss = mean(square(input<"x", 8, 4> * param<"w", 4>));

// case: not-a-power-of-two
// says: shards<L> are summed in a binary tree, so L is a power of two, at least 2
// shows: shards<6>
static_assert(detail::checked<loss, shards<6>>());      // wrong
static_assert(detail::checked<loss, microbatch<6>>());  // right

// case: not-a-power-of-two-one
// says: shards<L> are summed in a binary tree, so L is a power of two, at least 2
static_assert(detail::checked<loss, shards<1>, microbatch<2>>());  // wrong
static_assert(detail::checked<loss, shards<2>, microbatch<2>>());  // right

// case: not-a-power-of-two-negative
// says: shards<L> are summed in a binary tree, so L is a power of two, at least 2
static_assert(detail::checked<loss, shards<-4>>());  // wrong
static_assert(detail::checked<loss, shards<4>>());   // right
