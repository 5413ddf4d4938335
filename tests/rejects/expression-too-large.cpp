// rejects: cairn \[expression-too-large\]: .*make layers of them and compose these with | or repeat
// rejects: operation<cairn::fixed_string<5>\{"tanh"\}, float ?\[4\]>
// rejects: height<401>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

constexpr auto five = [](auto x) { return tanh(tanh(tanh(tanh(tanh(x))))); };
constexpr auto twenty = [](auto x) { return five(five(five(five(x)))); };
constexpr auto hundred = [](auto x) { return twenty(twenty(twenty(twenty(twenty(x))))); };

#ifdef CAIRN_REJECT
constexpr auto most = tanh(tanh(tanh(tanh(twenty(twenty(twenty(twenty(hundred(hundred(hundred(input<"x", 4>)))))))))));
constexpr auto deepest = tanh(five(five(five(most))));
#else
constexpr auto deepest = input<"x", 4> | layer(hundred) | layer(hundred) | layer(hundred) | layer(hundred) | layer(five);
#endif

constexpr auto loss = mean(deepest);
static_assert(an_expression<decltype(loss)>);
