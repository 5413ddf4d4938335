// The program reports this mistake.
//
// The model has more nodes than a compiler can evaluate within its limit of steps. Raise the limit by the compiler
// option that the message names, and add the option `any_size`. Nodes are the operations and leaves of the model, and
// each repetition of a `repeat` has nodes of its own.
//
// By default g++ has steps for about 9,500 nodes, and clang for 5,400. Long names lower these numbers. A model with
// `grad` has more nodes, which are not counted here, so the compiler may give up first, in its own words. Some larger
// models compile with `program<loss, any_size>` alone.

#include "cairn/check/model.hpp"

using namespace cairn;

// case: model-too-large
// says: .*raise its limit.*and add the option any_size
// shows: nodes<12006>
constexpr auto euler = layer([](auto u) { return u + 0.01_c * tanh(u); });
template <int Steps>
constexpr auto state_after = param<"start", 4> | repeat<Steps, "step">([](auto) { return euler; });
constexpr auto end = state_after<3000>;  // wrong
constexpr auto end = state_after<30>;    // right
static_assert(detail::checked<mean(end)>());
