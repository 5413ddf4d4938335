// PROSE

#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

// case: detached-in-segment-nested
// says: this segment contains a detach.*detach outside and pass the result as an argument
// shows: fact::in<cairn::fixed_string<6>\{"outer"\}>
// A block inside the segment detaches: the segment is named, for it is what has to change.
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
// What has no gradient by design cuts one, too.
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
// The layer knows nothing of the segment that it is used in two levels up.
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
// As silent-results, but all of it inside a body.
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
