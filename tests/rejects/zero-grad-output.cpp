// The program reports this mistake.
//
// The gradient of the loss reaches no trained parameter at all. `operation` is the operation that cuts off the
// gradient. Take that operation out, name inputs in `wrt<...>`, or use a predictor. A model that has nothing to train
// has a sentence of its own, which names no operation: the model has no parameter, or all parameters are frozen.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/extremum.hpp"
#include "cairn/op/gather.hpp"

using namespace cairn;

// case: zero-grad-output
// says: no gradient of the loss reaches any parameter
// shows: fact::operation<cairn::fixed_string<7>\{"detach"\}>
constexpr auto y = input<"x", 4, 8> | nn::linear<"fc", 2>;
constexpr auto loss = mean(square(detach(y)));  // wrong
constexpr auto loss = mean(y * detach(y));      // right
static_assert(detail::checked<loss>());

// case: zero-grad-output-argmax
// says: no gradient of the loss reaches any parameter
// shows: fact::operation<cairn::fixed_string<8>\{"one_hot"\}>
constexpr auto x = param<"x", 4, 6>;
constexpr auto loss = sum(one_hot(argmax<-1>(x)));      // wrong
constexpr auto loss = sum(one_hot(argmax<-1>(x)) * x);  // right
static_assert(detail::checked<loss>());

// case: zero-grad-output-frozen
// says: no parameter of the loss is trained: it has none, or all are frozen
constexpr auto loss = mean(input<"x", 4, 8> | nn::linear<"fc", 2>);
static_assert(detail::checked<loss, freeze<"fc">>());       // wrong
static_assert(detail::checked<loss, freeze<"fc.bias">>());  // right
