// The program reports this mistake.
//
// Everything after the loss is an option, and this is none. Several results of a program are one `outputs(loss, ...)`.
// `real<bf16>` has a sentence of its own, because a program computes in floats or doubles. `mixed<bf16>` stores the
// results in half the bytes.

#include "cairn/check/model.hpp"

using namespace cairn;

// case: unknown-option
// says: this is no option of a program: real, freeze
// shows: fact::given<double>
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);
using element = double;        // wrong
using element = real<double>;  // right
static_assert(detail::checked<loss, element, plain>());

// case: unknown-option-real
// says: the numbers of a program are real<float> or real<double>; .* mixed<bf16>, without real
// shows: fact::given<cairn::real<cairn::bf16> ?>
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);
using numbers = real<bf16>;   // wrong
using numbers = mixed<bf16>;  // right
static_assert(detail::checked<loss, numbers>());

// case: unknown-option-real-long
// says: the numbers of a program are real<float> or real<double>
// shows: fact::given<cairn::real<long double> ?>
constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);
using numbers = real<long double>;  // wrong
using numbers = real<double>;       // right
static_assert(detail::checked<loss, numbers>());
