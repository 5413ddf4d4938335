// rejects: cairn \[model-too-large\]: .*raise its limit.*and add the option any_size
// rejects: nodes<12006>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/lang/repeat.hpp"

using namespace cairn;

constexpr auto euler = layer([](auto u) { return u + 0.01_c * tanh(u); });
template <int Steps>
constexpr auto state_after = param<"start", 4> | repeat<Steps, "step">([](auto) { return euler; });

#ifdef CAIRN_REJECT
constexpr auto end = state_after<3000>;
#else
constexpr auto end = state_after<30>;
#endif

static_assert(detail::checked<mean(end)>());
