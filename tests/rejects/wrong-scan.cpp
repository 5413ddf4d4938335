// `scan` reports this mistake. The program reports a gradient of a gradient that goes through a scan.
//
// One body serves all iterations, so the value that it returns for a carried value is the value that it gets in the
// next iteration. Return a value of the same shape and type for each carried value, and then the values that are
// collected.
//
// A policy has at least one snapshot, which holds the values with which the scan begins, and at most as many snapshots
// as the scan has iterations: [loops](language.md#loops). A scan in the body of another scan keeps its snapshots in the
// arena, because it runs again in each iteration of the outer scan.

#include "cairn/check/scan.hpp"
#include "cairn/op/matmul.hpp"

using namespace cairn;

// case: wrong-scan-changed
// says: the body of scan returns another shape or type for a carried value.*\(the first is number 0\)
// shows: fact::in<cairn::fixed_string<5>\{"step"\}.*fact::argument<0>.*fact::got<float *\[4\]\[6\]>
constexpr auto h0 = input<"h0", 4, 5>;
constexpr auto body = [](auto h) { return tanh(matmul(h, param<"w", 5, 6>)); };  // wrong
constexpr auto body = [](auto h) { return tanh(matmul(h, param<"w", 5, 5>)); };  // right
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(h0));

// case: wrong-scan-changed-type
// says: the body of scan returns another shape or type for a carried value.*\(the first is number 0\)
// shows: fact::in<cairn::fixed_string<5>\{"step"\}.*fact::argument<0>.*fact::got<double *\[4\]\[5\]>
constexpr auto h0 = input<"h0", 4, 5>;
constexpr auto body = [](auto h) { return as<double>(tanh(h)); };           // wrong
constexpr auto body = [](auto h) { return as_real(as<double>(tanh(h))); };  // right
[[maybe_unused]] constexpr auto h = scan<10, "step">(body, carried(h0));

// case: wrong-scan-elsewhere
// says: a scan in the body of this scan keeps its snapshots elsewhere
// shows: fact::in<.*"outer"
constexpr auto x = input<"x", 5>;
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
template <class Policy>
constexpr auto loops = [](auto h) { return scan<10, "inner", Policy>(body, carried(h)); };
[[maybe_unused]] constexpr auto h = scan<10, "outer">(loops<two_level<5, 2, snapshots::elsewhere>>,  // wrong
                                                     carried(x));                                    // wrong
[[maybe_unused]] constexpr auto h = scan<10, "outer">(loops<two_level<5, 2>>, carried(x));           // right

// case: wrong-scan-period
// says: the policy does not fit T iterations; .*two_level<P, S> have periods of 1 to T, 1 to P snapshots
// shows: fact::given<cairn::two_level<3, 4[^>]*>
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10, "step", two_level<3, 4>>(body, carried(input<"h0", 4, 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step", two_level<4, 3>>(body, carried(input<"h0", 4, 5>));  // right

// case: wrong-scan-second-gradient
// says: a gradient of a gradient goes through this scan
#include "cairn/run/scan.hpp"
constexpr auto x = input<"x", 4, 5>;
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
constexpr auto y = mean(square(scan<10, "step">(body, carried(x))));
constexpr auto loss = y + mean(square(grad(y, x)));                                // wrong
constexpr auto loss = y + mean(square(grad(mean(square(x) * param<"a", 5>), x)));  // right
static_assert(detail::checked<loss>());

// case: wrong-scan-second-gradient-of-tiled
// says: a gradient of a gradient goes through this scan or tiled layer, which has first gradients only
#include "cairn/run/scan.hpp"
constexpr auto x = input<"x", 4, 5>;
constexpr auto body = layer([](auto h) { return tanh(h * param<"w", 5>); });
constexpr auto y = mean(square(x | nn::tiled<2>(body)));  // wrong
constexpr auto y = mean(square(x | body));                // right
constexpr auto loss = y + mean(square(grad(y, x)));
static_assert(detail::checked<loss>());

// case: wrong-scan-second-gradient-of-roles
// says: a gradient of a gradient goes through this scan
// The gradient of w is a sum: w is the carried value and is read in each iteration.
#include "cairn/run/scan.hpp"
constexpr auto w = param<"w", 4>;
constexpr auto body = [](auto h, auto factor) { return tanh(h) * factor; };
constexpr auto y = sum(sin(scan<3, "step">(body, carried(w), w)));
constexpr auto loss = y + mean(square(grad(y, w)));  // wrong
constexpr auto loss = y;                             // right
static_assert(detail::checked<loss>());

// case: wrong-scan-second-gradient-beside
// says: a gradient of a gradient goes through this scan
// The gradient of w is the sum of its gradient in the scan and of its gradient beside the scan.
#include "cairn/run/scan.hpp"
constexpr auto w = param<"w", 4>;
constexpr auto body = [](auto h, auto factor) { return tanh(h) * factor; };
constexpr auto beside = sum(square(w));
constexpr auto y = sum(sin(scan<3, "step">(body, carried(w), param<"v", 4>))) + beside;
constexpr auto loss = y + mean(square(grad(y, w)));       // wrong
constexpr auto loss = y + mean(square(grad(beside, w)));  // right
static_assert(detail::checked<loss>());

// case: wrong-scan-second-gradient-of-residual-tiled
// says: a gradient of a gradient goes through this scan or tiled layer, which has first gradients only
#include "cairn/nn/activation.hpp"
#include "cairn/run/scan.hpp"
constexpr auto x = input<"x", 4, 5>;
constexpr auto body = layer([](auto h) { return tanh(h * param<"w", 5>); });
constexpr auto y = mean(square(x | nn::residual(nn::tiled<2>(body))));  // wrong
constexpr auto y = mean(square(x | nn::residual(body)));                // right
constexpr auto loss = y + mean(square(grad(y, x)));
static_assert(detail::checked<loss>());

// case: wrong-scan-snapshots
// says: the policy does not fit T iterations; revolve<S> has 1 to T snapshots
// shows: fact::given<cairn::revolve<0> ?>.*fact::iterations<10>
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<0>>(body, carried(input<"h0", 4, 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<1>>(body, carried(input<"h0", 4, 5>));  // right

// case: wrong-scan-too-few
// says: the body of scan returns fewer values than are carried.*std::tuple
// shows: fact::in<cairn::fixed_string<5>\{"step"\}
constexpr auto h0 = input<"h0", 4, 5>;
constexpr auto c0 = input<"c0", 4, 5>;
constexpr auto cell = [](auto h, auto c) {
  const auto next = sigmoid(h * param<"w", 5>) * c;
  return tanh(next);                    // wrong
  return std::tuple{tanh(next), next};  // right
};
[[maybe_unused]] constexpr auto h = scan<10, "step">(cell, carried(h0, c0));

// case: wrong-scan-too-many-snapshots
// says: the policy does not fit T iterations; revolve<S> has 1 to T snapshots
// shows: fact::given<cairn::revolve<11> ?>.*fact::iterations<10>
// shows: fact::in<cairn::fixed_string<5>\{"step"\}>
constexpr auto body = [](auto h) { return tanh(h * param<"w", 5>); };
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<11>>(body, carried(input<"h0", 4, 5>));  // wrong
[[maybe_unused]] constexpr auto h = scan<10, "step", revolve<10>>(body, carried(input<"h0", 4, 5>));  // right
