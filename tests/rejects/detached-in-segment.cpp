// The outermost call reports this mistake.
//
// The backward pass differentiates the interior of a segment again. A gradient that stops inside of a segment is most
// often a layer that was written for another place. PyTorch's checkpoint has silently treated it in two different ways,
// so cairn refuses it. Detach the value outside of the segment, and pass the result as an argument. Outside of segments
// `detach` is allowed.

#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

// case: detached-in-segment-nested
// says: this segment contains a detach.*detach outside and pass the result as an argument
// shows: fact::in<cairn::fixed_string<6>\{"outer"\}>
// A block inside of the segment detaches. The message names the segment, because the segment has to change.
constexpr auto stop = [](auto x) { return tanh(detach(x)); };  // wrong
constexpr auto stop = [](auto x) { return tanh(x); };          // right
constexpr auto segment = nn::linear<"a", 8> | block<"inner">(layer(stop) | nn::linear<"b", 8>);
constexpr auto loss = mean(input<"x", 4, 8> | ckpt<"outer">(segment));
static_assert(an_expression<decltype(loss)>);

// case: detached-in-segment-accuracy
// says: this segment contains a detach
// shows: fact::in<cairn::fixed_string<5>\{"eval"\}>
constexpr auto classes = labels<"y", 4, 8>;
constexpr auto logits = input<"x", 8, 16> | nn::linear<"head", 4>;
// An operation that has no gradient by design cuts off a gradient, too.
constexpr auto loss = ckpt<"eval">([](auto z, auto y) { return cross_entropy(z, y) - accuracy(z, y); },  // wrong
                                   logits, classes);                                                     // wrong
constexpr auto loss = ckpt<"eval">([](auto z, auto y) { return cross_entropy(z, y); },                   // right
                                   logits, classes) -                                                    // right
                      accuracy(logits, classes);                                                         // right
static_assert(an_expression<decltype(loss)>);

// case: detached-in-segment-direct
// says: this segment contains a detach.*detach outside and pass the result as an argument
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
constexpr auto x = param<"x", 4>;
constexpr auto y = ckpt<"enc">([](auto x) { return x * detach(x); }, x);                           // wrong
constexpr auto y = ckpt<"enc">([](auto x, auto detached) { return x * detached; }, x, detach(x));  // right
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);

// case: detached-in-segment-layer
// says: this segment contains a detach.*detach outside and pass the result as an argument
// shows: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
// The layer stands two levels below its segment.
constexpr auto normalized = [](auto x) {
  return x / detach(sum<-1>(x * x, keepdim));  // wrong
  return x / sum<-1>(x * x, keepdim);          // right
};
constexpr auto inner = nn::linear<"fc", 8> | layer(normalized) | nn::relu;
constexpr auto model = repeat<4, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); }) | nn::linear<"head", 2>;
constexpr auto loss = mean(input<"x", 4, 8> | model);
static_assert(an_expression<decltype(loss)>);

// case: silent-results-inside
// shows: cairn \[detached-in-segment\]
// shows: fact::in<cairn::fixed_string<14>\{"encoder\.inner"\}>
// The mistake is inside of a body, and its results are silent.
constexpr auto halves = [](auto x) {
  return std::tuple{exp(x), detach(x)};  // wrong
  return std::tuple{exp(x), tanh(x)};    // right
};
constexpr auto encoder = [](auto x) {
  auto [a, b] = ckpt<"inner">(halves, x);
  auto [c, d] = ckpt<"outer">(halves, a * b);
  return c + d;
};
constexpr auto loss = mean(input<"x", 4> | block<"encoder">(encoder));
static_assert(an_expression<decltype(loss)>);
