// rejects: cairn \[expression-too-large\]: .*wrap the part that uses values twice in block or ckpt
// rejects: operation<cairn::fixed_string<4>\{"add"\}, float ?\[4\], float ?\[4\]>
// rejects: nodes<1[0-9]*>
#include "cairn/core/diagnose.hpp"
#include "cairn/expr/compose.hpp"
#include "cairn/expr/reduce.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto twice = layer([](auto x) { return x + x; });
#else
constexpr auto twice = block<"twice">([](auto x) { return x + x; });
#endif

constexpr auto four_times = layer([](auto x) { return twice(twice(x)); });
constexpr auto sixteen_times = layer([](auto x) { return four_times(four_times(x)); });
constexpr auto y = input<"x", 4> | layer([](auto x) { return sixteen_times(sixteen_times(sixteen_times(x))); });
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
