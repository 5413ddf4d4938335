// The outermost call reports this mistake.
//
// A layer is a type without values, so it cannot keep a captured value. Pass the value as an argument. The id has more
// sentences, for these functions:
//
// - a function that takes another number of arguments than it is given, or takes a reference;
// - a function that returns no expression, or a tuple with an element that is no expression;
// - a function that gets two values from `repeat` and returns one.

#include "cairn/lang/generated.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// case: not-a-layer-capture
// says: a layer captures nothing and has no members; pass values as arguments
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
// shows: given<.*lambda
constexpr auto segment(int) {                                             // wrong
  return ckpt<"enc">([n = 2](auto x) { return n > 1 ? x * x : x * x; });  // wrong
}                                                                         // wrong
constexpr auto loss = mean(input<"x", 4> | segment(2));                   // wrong
constexpr auto segment = ckpt<"enc">([](auto x) { return x * x; });       // right
constexpr auto loss = mean(input<"x", 4> | segment);                      // right
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-arguments
// says: this cannot be called with these arguments: a layer takes expressions by value, as many as it is given
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
// shows: arguments<float ?\[4\], float ?\[4\]>
constexpr auto x = input<"x", 4>;
constexpr auto y = ckpt<"enc">([](auto a) { return exp(a); }, x, x);  // wrong
constexpr auto y = ckpt<"enc">([](auto a) { return exp(a); }, x);     // right
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-array
// says: several layers are no layer; write a \| b \| c
constexpr auto x = input<"x", 8, 16>;
constexpr auto y = x | std::array{nn::tanh, nn::tanh};                     // wrong
constexpr auto y = x | repeat<2, "layer">([](auto) { return nn::tanh; });  // right
static_assert(an_expression<decltype(y)>);

// case: not-a-layer-capture-scan
// says: a layer captures nothing and has no members; .* scan takes them last, behind each\(\.\.\.\)
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto looped(auto rate) {
  return scan<10, "step">([rate](auto h) { return tanh(h * rate); }, carried(zeros<5>));           // wrong
  return scan<10, "step">([](auto h, auto by) { return tanh(h * by); }, carried(zeros<5>), rate);  // right
}
[[maybe_unused]] constexpr auto h = looped(input<"rate">);

// case: not-a-layer-int
// says: a layer returns an expression
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
// shows: returned<int>
constexpr auto rows = [](auto x) {
  return decltype(x)::shape.rank;  // wrong
  return exp(x);                   // right
};
constexpr auto loss = mean(input<"x", 4> | block<"enc">(rows));
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-empty-capture
// says: a layer captures nothing and has no members
// shows: given<.*lambda
constexpr auto segment(int n) {
  static_cast<void>(n);
  return layer([&](auto x) { return x * x; });  // wrong
  return layer([](auto x) { return x * x; });   // right
}
constexpr auto loss = mean(input<"x", 4> | segment(2));
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-number
// says: this element of what a layer returns \(the first is number 0\) is no expression; write 3\.0_c
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>.*fact::element<2>.*fact::returned<double>
constexpr auto body = [](auto h, auto v) { return std::tuple{h + v, h, 3.0}; };    // wrong
constexpr auto body = [](auto h, auto v) { return std::tuple{h + v, h, 3.0_c}; };  // right
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(zeros<5>), input<"x", 5>);

// case: not-a-layer-repeat-values
// says: what repeat applies returns as many values as it is given
// shows: fact::in<cairn::fixed_string<6>\{"net\.0"\}>
// shows: arguments<float ?\[4\]\[8\], float ?\[4\]\[8\]>, cairn::fact::results<float ?\[4\]\[8\]>
// The cell does not return its state.
constexpr auto cell = [](auto h, auto c) {
  const auto kept = sigmoid(h | nn::linear<"gate", 8>) * c;
  return tanh(kept);                    // wrong
  return std::tuple{tanh(kept), kept};  // right
};
constexpr auto stack = repeat<4, "net">([](auto) { return cell; }, input<"h", 4, 8>, input<"c", 4, 8>);
constexpr auto loss = mean(std::get<0>(stack) + std::get<1>(stack));
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-repeat
// says: repeat takes a function of the index
// shows: fact::in<cairn::fixed_string<6>\{"block"\}>
constexpr auto deep = repeat<3, "block">(nn::linear<"fc", 4>);                       // wrong
constexpr auto deep = repeat<3, "block">([](auto) { return nn::linear<"fc", 4>; });  // right
constexpr auto loss = mean(input<"x", 2, 4> | deep);
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-state
// says: a layer captures nothing and has no members; pass values as arguments
// shows: given<(cairn::)?scaled>
struct scaled {
  double by = 0.5;  // wrong: what a program computes is fixed when it is compiled
  constexpr auto operator()(auto x) const { return 0.5_c * x; }
};
constexpr auto loss = mean(input<"x", 4> | layer(scaled{}));
static_assert(an_expression<decltype(loss)>);

// case: not-a-layer-void
// says: a layer returns an expression
// shows: returned<void>
constexpr auto forgotten = [](auto x) {
  static_cast<void>(exp(x));  // wrong
  return exp(x);              // right
};
constexpr auto loss = mean(input<"x", 4> | layer(forgotten));
static_assert(an_expression<decltype(loss)>);
