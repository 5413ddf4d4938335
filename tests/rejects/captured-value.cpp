// The outermost call reports this mistake.
//
// A segment recomputes its interior, and with it everything that its body computes from inputs. A value from outside
// must therefore come in as an argument, which makes it a boundary. Pass the value as an argument, or compute it within
// the body. Inputs, slices and reshapes of inputs, parameters, and values computed from parameters alone are
// exceptions: the body may use them as they are.
//
// The note names the operation that computes the value, or the value's tensor if the type does not tell the operation.
// Then the note names the first input from which the value is computed.

#include "cairn/check/model.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/lang/tiled.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/op/gather.hpp"

using namespace cairn;

// case: captured-value-computed
// says: a body uses another's value, or one of inputs not given to it
// shows: fact::in<cairn::fixed_string<6>\{"b\.enc"\}>, cairn::fact::operation<cairn::fixed_string<5>\{"tanh"\}, float ?\[4\]>
// shows: fact::input<cairn::fixed_string<2>\{"x"\}>
constexpr auto features = tanh(input<"x", 4>);
// The segment would recompute the features.
constexpr auto skipping = ckpt<"enc">(layer([](auto a) { return exp(a); }) |        // wrong
                                      layer([](auto a) { return a + features; }));  // wrong
constexpr auto y = features | block<"b">(skipping);                                 // wrong
constexpr auto skipping = ckpt<"enc">([](auto a) { return exp(a) + a; });           // right
constexpr auto y = features | block<"b">(skipping);                                 // right
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);

// case: captured-value-outputs
// shows: cairn \[captured-value\]
// shows: operation<cairn::fixed_string<8>\{"outputs"\}, float>
constexpr auto scaled = [](auto x) { return x * param<"w">; };
constexpr auto y = block<"b">(scaled)(input<"x">);
// The loss is a value of the body, outside of the body.
using placeholder = lang::argument<1, 0, lang::tensor_of<lang::input_leaf<"x">>, std::remove_const_t<decltype(scaled)>>;  // wrong
constexpr auto loss = scaled(placeholder{});                                                            // wrong
constexpr auto loss = y;                                                                                // right
static_assert(detail::checked<loss>());

// case: captured-value-placeholder
// says: a body uses another's value, or one of inputs not given to it; pass it as an argument
// shows: fact::in<cairn::fixed_string<12>\{"outer\.inner"\}>
// shows: operation<cairn::fixed_string<4>\{"add"\}, float ?\[4\], float ?\[4\]>
// The argument of the outer body enters the inner one through its type.
constexpr auto outer = [](auto x) {
  return ckpt<"inner">([](auto y) { return y + decltype(x){}; }, exp(x));  // wrong
  return ckpt<"inner">([](auto y, auto x) { return y + x; }, exp(x), x);   // right
};
constexpr auto loss = mean(block<"outer">(outer)(param<"x", 4>));
static_assert(an_expression<decltype(loss)>);

// case: captured-value-repeat
// says: a body uses another's value, or one of inputs not given to it
// shows: fact::operation<cairn::fixed_string<7>\{"gather"\}, float ?\[4\]\[3\], int ?\[8\]>, cairn::fact::input<cairn::fixed_string<2>\{"y"\}>
// The value is computed from labels, and the segment is a repeat.
constexpr auto embedded = gather<0>(param<"w", 4, 3>, labels<"y", 4, 8>);
constexpr auto with_embedded = layer([](auto a, auto b) { return a * b; });
constexpr auto stage = layer([](auto a) { return tanh(a) * embedded; });                                // wrong
constexpr auto z = ckpt<"enc">(nn::tanh | repeat<2, "r">([](auto) { return stage; }), tanh(embedded));  // wrong
constexpr auto z = ckpt<"enc">(with_embedded, tanh(embedded), embedded);                                // right
constexpr auto loss = mean(z);
static_assert(an_expression<decltype(loss)>);

// case: captured-value-returned
// says: a body uses another's value, or one of inputs not given to it; pass it as an argument
// shows: fact::in<cairn::fixed_string<12>\{"outer\.inner"\}>
// The inner body returns a value of the outer body.
constexpr auto outer = [](auto x) {
  return ckpt<"inner">([](auto) { return tanh(decltype(x){}); }, exp(x));  // wrong
  return ckpt<"inner">([](auto y) { return tanh(y); }, exp(x));            // right
};
constexpr auto loss = mean(block<"outer">(outer)(param<"x", 4>));
static_assert(an_expression<decltype(loss)>);

// case: captured-value-scan
// says: a body uses another's value, or one of inputs not given to it
// shows: fact::in<cairn::fixed_string<5>\{"step"\}
constexpr auto scaled = exp(input<"x", 5>);
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h) { return tanh(h * scaled); },     // wrong
                                                    carried(zeros<5>));                           // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step">([](auto h, auto a) { return tanh(h * a); },  // right
                                                    carried(zeros<5>), scaled);                   // right

// case: captured-value-tiled
// says: a body uses another's value, or one of inputs not given to it; pass it as an argument
// shows: fact::in<cairn::fixed_string<6>\{"tiled"\}>
// shows: fact::input<cairn::fixed_string<6>\{"scale"\}>
constexpr auto x = param<"x", 8, 4>;
constexpr auto gate = tanh(input<"scale", 4>);  // wrong
constexpr auto gate = tanh(param<"scale", 4>);  // right
constexpr auto y = nn::tiled<2>([](auto a) { return exp(a) * gate; }, x);
static_assert(an_expression<decltype(mean(y))>);

// case: captured-value-without-arguments
// says: a body uses another's value, or one of inputs not given to it
// shows: fact::in<cairn::fixed_string<4>\{"enc"\}>
constexpr auto y = ckpt<"enc">([] { return tanh(input<"x", 4>); });  // wrong
constexpr auto y = ckpt<"enc">([] { return tanh(param<"w", 4>); });  // right
constexpr auto loss = mean(y);
static_assert(an_expression<decltype(loss)>);
