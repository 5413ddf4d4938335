// The outermost call reports this mistake.
//
// Expressions may nest 400 deep, because compilers stop a constant evaluation at about 500 nested calls. Make layers of
// the operations, and compose the layers with `|` or `repeat`. Chains are flat and have no limit.

#include "cairn/lang/repeat.hpp"
#include "cairn/op/reduce.hpp"

using namespace cairn;

// case: expression-too-large
// says: .*make layers of them and compose these with | or repeat
// shows: operation<cairn::fixed_string<5>\{"tanh"\}, float ?\[4\]>
// shows: height<401>
constexpr auto five = [](auto x) { return tanh(tanh(tanh(tanh(tanh(x))))); };
constexpr auto twenty = [](auto x) { return five(five(five(five(x)))); };
constexpr auto hundred = [](auto x) { return twenty(twenty(twenty(twenty(twenty(x))))); };
constexpr auto most =                                                                                  // wrong
    tanh(tanh(tanh(tanh(twenty(twenty(twenty(twenty(hundred(hundred(hundred(input<"x", 4>)))))))))));  // wrong
constexpr auto deepest = tanh(five(five(five(most))));                                                 // wrong
constexpr auto deepest = input<"x", 4> | layer(hundred) | layer(hundred) |                             // right
                         layer(hundred) | layer(hundred) | layer(five);                                // right
constexpr auto loss = mean(deepest);
static_assert(an_expression<decltype(loss)>);
