// The program reports this mistake.
//
// `over_parts(count)` is the mean of a count over the parts of a batch. All parts are counted before the first one
// runs, so that a count may depend on inputs and on constants alone. A count that depends on parameters, states or
// random numbers is refused. The weights of `cross_entropy` are such a count. Write weights of classes as
// `generated<...>`, and give weights of rows as an input.

#include "cairn/check/model.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// shared: logits
constexpr auto x = input<"x", 8, 4>;
constexpr auto logits = x | nn::linear<"fc", 2>;

// case: denominator-of-parameters
// says: a count over the parts of a batch is computed before the first one, from inputs alone
// shows: fact::parameter<cairn::fixed_string<2>\{"w"\}>
constexpr auto weights = param<"w", 8>;  // wrong
constexpr auto weights = input<"w", 8>;  // right
constexpr auto loss = sum(weights * mean<-1>(square(logits))) / over_parts(sum(weights));
static_assert(detail::checked<loss, microbatch<4>>());

// case: denominator-of-parameters-state
// says: a count over the parts of a batch is computed before the first one, from inputs alone
// shows: fact::parameter<cairn::fixed_string<5>\{"seen"\}>
constexpr auto seen = state<"seen", initial{}>;
constexpr auto count = over_parts(sum(square(x)) + seen);  // wrong
constexpr auto count = over_parts(sum(square(x))) + seen;  // right
constexpr auto loss = updated(sum(logits), seen, sum(x)) / count;
static_assert(detail::checked<loss, microbatch<4>>());

// case: denominator-of-parameters-random
// says: a count over the parts of a batch is computed before the first one, from inputs alone
constexpr auto some = sum(square(x | nn::dropout<"d">));
constexpr auto loss = sum(logits) / over_parts(some);  // wrong
constexpr auto loss = sum(logits) / some;              // right
static_assert(detail::checked<loss, microbatch<4>>());
