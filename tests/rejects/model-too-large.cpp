// PROSE

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
