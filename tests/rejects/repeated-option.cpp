// The program reports this mistake.
//
// A program has each of the options `real`, `cotangent`, `threads` and `fit` once, and `clip` and `clip_value` are one
// option. Leave one of the two out. `freeze`, `wrt` and `update` may come several times. If several budgets are given,
// the least one counts.

#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

// case: repeated-option
// says: a program has one such option
// shows: given<cairn::cotangent<cairn::fixed_string<2>\{"w"\}>
constexpr auto y = tanh(param<"p", 3>);
constexpr bool good = detail::checked<y, cotangent<"v">, cotangent<"w">>();  // wrong
constexpr bool good = detail::checked<y, cotangent<"v">>();                  // right
static_assert(good);

// case: repeated-option-clip
// says: a program has one such option, and this is its second; leave one out
// shows: given<cairn::clip_value<
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4> + param<"b", 4>));
static_assert(detail::checked<loss, update<sgd_options{}>, clip<1.0>, clip_value<0.5>>());  // wrong
static_assert(detail::checked<loss, update<sgd_options{}>, clip<1.0>>());                   // right

// case: repeated-option-fit
// says: a program has one such option
// shows: given<cairn::fit<16384L?>
constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 40> | nn::tanh | nn::linear<"fc2", 40> | nn::tanh);
constexpr bool good = detail::checked<loss, fit<8_KiB>, fit<16_KiB>>();  // wrong
constexpr bool good = detail::checked<loss, fit<8_KiB>>();               // right
static_assert(good);

// case: repeated-option-real
// says: a program has one such option
// shows: given<cairn::real<float> ?>
constexpr auto y = sum(param<"p", 3> * param<"q", 3> + param<"r", 3>);
constexpr bool good = detail::checked<y, real<double>, real<float>>();               // wrong
constexpr bool good = detail::checked<y, real<double>, freeze<"p">, freeze<"q">>();  // right
static_assert(good);
