// The program reports a setting of an update rule. The outermost call reports a setting of a layer, of `param_from`,
// `leaky_relu`, `nn::rotary`, `triplet_loss`, `cosine_embedding_loss`, `top_k_accuracy`, `topk` or
// `as_indices`. The program also reports a negative limit of bytes.
//
// Nesterov's step uses the momentum. Without momentum it would be plain descent, which cannot be meant. Give the
// setting another value. The note shows the setting, its value, and the values that the setting may have. [One
// table](operations.md#settings) has all settings. A setting that is known only at run time throws an exception.

#include "cairn/check/model.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear_cross_entropy.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/nn/parametrization.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/op/as_indices.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/measure.hpp"
#include "cairn/op/rotary.hpp"
#include "cairn/op/similarity.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

// case: meaningless-setting
// says: this setting has a value that cannot be meant
// shows: fact::given<cairn::sgd_options>
// shows: setting<(cairn::)?fixed_string<9>\{"nesterov"\}, 1\.0.*, (cairn::)?fixed_string<23>\{"false without momentum"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
constexpr sgd_options descent{.lr = 0.1, .nesterov = true};                   // wrong
constexpr sgd_options descent{.lr = 0.1, .momentum = 0.9, .nesterov = true};  // right
static_assert(detail::checked<loss, update<descent>>());

// case: meaningless-setting-alpha
// says: this setting has a value that cannot be meant
// shows: fact::given<cairn::rmsprop_options>
// shows: setting<(cairn::)?fixed_string<6>\{"alpha"\}, 1\.0.*, (cairn::)?fixed_string<19>\{"0 or more, below 1"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
static_assert(detail::checked<loss, update<rmsprop_options{.alpha = 1}>>());     // wrong
static_assert(detail::checked<loss, update<rmsprop_options{.alpha = 0.99}>>());  // right

// case: meaningless-setting-average
// says: this setting has a value that cannot be meant
// shows: setting<(cairn::)?fixed_string<6>\{"decay"\}, 1\.0.*, (cairn::)?fixed_string<19>\{"0 or more, below 1"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
static_assert(detail::checked<loss, update<averaged{sgd_options{}, 1}>>());      // wrong
static_assert(detail::checked<loss, update<averaged{sgd_options{}, 0.999}>>());  // right

// case: meaningless-setting-base
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<7>\{"rotary"\}>
// shows: setting<(cairn::)?fixed_string<5>\{"base"\}, 0\.0.*, (cairn::)?fixed_string<16>\{"above 0, finite"\}>
constexpr auto x = input<"x", 2, 3, 4, 6>;
constexpr auto y = nn::rotary<0>(x);      // wrong
constexpr auto y = nn::rotary<10000>(x);  // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-beta
// says: this setting has a value that cannot be meant
// shows: setting<(cairn::)?fixed_string<6>\{"beta2"\}, 1\.0.*, (cairn::)?fixed_string<19>\{"0 or more, below 1"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
static_assert(detail::checked<loss, update<adamw_options{.beta2 = 1}>>());     // wrong
static_assert(detail::checked<loss, update<adamw_options{.beta2 = 0.99}>>());  // right

// case: meaningless-setting-budget
// says: an arena has 0 bytes or more, so a limit of its bytes cannot be negative
// shows: fact::given<cairn::budget<-1> ?>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
using limit = budget<-1>;     // wrong
using limit = budget<4_KiB>;  // right
static_assert(detail::checked<loss, limit>());

// case: meaningless-setting-eps
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<5>\{"norm"\}>
// shows: setting<(cairn::)?fixed_string<4>\{"eps"\}, -1\.0.*, (cairn::)?fixed_string<27>\{"0 or more, finite in float"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto y = x | nn::layer_norm<"norm", -1e-5>;  // wrong
constexpr auto y = x | nn::layer_norm<"norm", 1e-5>;   // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-features
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<5>\{"norm"\}>
// shows: setting<(cairn::)?fixed_string<4>\{"eps"\}, 4\.0.*, .*"a real number, not features"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto y = x | nn::layer_norm<"norm", 4>;   // wrong
constexpr auto y = x | nn::layer_norm<"norm", .4>;  // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-in-float
// says: this setting has a value that cannot be meant
// shows: fact::given<cairn::sgd_options>
// shows: setting<(cairn::)?fixed_string<3>\{"lr"\}, (1\.0|9\.9).*, .*"0 or more, finite in float"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
static_assert(detail::checked<loss, update<sgd_options{.lr = 1e39}>>());  // wrong
static_assert(detail::checked<loss, update<sgd_options{.lr = 1e38}>>());  // right
// case: meaningless-setting-fit
// says: an arena has 0 bytes or more, so a limit of its bytes cannot be negative
// shows: fact::given<cairn::fit<-1> ?>
constexpr auto loss = sum(square(input<"x", 4, 4> | nn::linear<"fc", 4> | nn::linear<"fc2", 4>));
using limit = fit<-1>;     // wrong
using limit = fit<4_KiB>;  // right
static_assert(detail::checked<loss, limit>());

// case: meaningless-setting-margin
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<13>\{"triplet_loss"\}>
// shows: setting<(cairn::)?fixed_string<7>\{"margin"\}, 0\.0.*, (cairn::)?fixed_string<16>\{"above 0, finite"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto loss = triplet_loss<0>(x, sin(x), cos(x));    // wrong
constexpr auto loss = triplet_loss<0.2>(x, sin(x), cos(x));  // right
static_assert(an_expression<decltype(loss)>);

// case: meaningless-setting-momentum
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<3>\{"bn"\}>
// shows: setting<(cairn::)?fixed_string<9>\{"momentum"\}, 1\.5.*, (cairn::)?fixed_string<12>\{"from 0 to 1"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto y = x | nn::batch_norm<"bn", nn::batch_norm_options{.momentum = 1.5}>;  // wrong
constexpr auto y = x | nn::batch_norm<"bn", nn::batch_norm_options{.momentum = 0.5}>;  // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-rate
// says: this setting has a value that cannot be meant
// shows: fact::given<descent>
// shows: setting<(cairn::)?fixed_string<3>\{"lr"\}, -1\.0.*, (cairn::)?fixed_string<27>\{"0 or more, finite in float"\}>
constexpr auto loss = sum(square(input<"x", 4> * param<"w", 4>));
struct descent {
  double lr = 1e-3;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) { return std::tuple{p - rate * g}; }
};
static_assert(detail::checked<loss, update<descent{.lr = -1}>>());  // wrong
static_assert(detail::checked<loss, update<descent{.lr = 1}>>());   // right

// case: meaningless-setting-rank
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<2>\{"q"\}>
// shows: setting<(cairn::)?fixed_string<5>\{"rank"\}, 0\.0.*, (cairn::)?fixed_string<10>\{"1 or more"\}>
constexpr auto adapted = nn::lora<0, 16>(nn::linear<"q", 4>);  // wrong
constexpr auto adapted = nn::lora<8, 16>(nn::linear<"q", 4>);  // right
constexpr auto y = input<"x", 8, 4> | adapted;
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-slope
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<11>\{"leaky_relu"\}>
// shows: setting<(cairn::)?fixed_string<6>\{"slope"\}, .*, (cairn::)?fixed_string<16>\{"a finite number"\}>
constexpr auto x = input<"x", 8, 4>;
constexpr auto y = leaky_relu<std::numeric_limits<double>::infinity()>(x);  // wrong
constexpr auto y = leaky_relu<-0.2>(x);                                     // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-start
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<2>\{"w"\}>
// shows: setting<(cairn::)?fixed_string<6>\{"width"\}, -2\.0.*, (cairn::)?fixed_string<27>\{"0 or more, finite in float"\}>
constexpr auto y = exp(param_from<"w", initial::normal(-0.02), 8, 4>);  // wrong
constexpr auto y = exp(param_from<"w", initial::normal(0.02), 8, 4>);   // right
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-single-layer
// says: this setting has a value that cannot be meant
// shows: in<(cairn::)?fixed_string<6>\{"net.n"\}>
// shows: setting<(cairn::)?fixed_string<8>\{"dropout"\}, \d\.\d+e?.*, (cairn::)?fixed_string<20>\{"0 in a single layer"\}>
constexpr nn::recurrent_options options{.dropout = 0.125};                   // wrong
constexpr nn::recurrent_options options{.num_layers = 2, .dropout = 0.125};  // right
constexpr auto y = input<"x", 2, 3, 4> | block<"net">(nn::gru<"n", 5, options>);
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-workspace
// says: this setting has a value that cannot be meant
// shows: fact::in<(cairn::)?fixed_string<5>\{"head"\}>
// shows: setting<(cairn::)?fixed_string<10>\{"workspace"\}, -1\.0.*, (cairn::)?fixed_string<27>\{"0 or more, finite in float"\}>
constexpr nn::linear_cross_entropy_options how{.workspace = -1};     // wrong
constexpr nn::linear_cross_entropy_options how{.workspace = 8_MiB};  // right
constexpr auto loss = nn::linear_cross_entropy<"head", 4, how>(input<"x", 8, 4>, labels<"y", 4, 8>);
static_assert(an_expression<decltype(loss)>);

// case: meaningless-setting-top-k
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<15>\{"top_k_accuracy"\}>
// shows: setting<(cairn::)?fixed_string<2>\{"k"\}, 5\.0.*\{"from 1 to the number of classes"\}>
constexpr auto right = top_k_accuracy<5>(input<"x", 8, 4>, labels<"y", 4, 8>);  // wrong
constexpr auto right = top_k_accuracy<4>(input<"x", 8, 4>, labels<"y", 4, 8>);  // right
static_assert(an_expression<decltype(right)>);

// case: meaningless-setting-zeros
// says: .* it cannot start as zeros; give it another start
// shows: fact::in<(cairn::)?fixed_string<10>\{"fc\.weight"\}>
// shows: operation<(cairn::)?fixed_string<\d+>\{"weight_norm"\}, float ?\[8\]\[3\]>
constexpr auto normed = nn::weight_norm(nn::linear<"fc", 4, initial::zeros()>);       // wrong
constexpr auto normed = nn::weight_norm(nn::linear<"fc", 4, initial::normal(0.02)>);  // right
constexpr auto y = input<"x", 8, 3> | normed;
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-zeros-spectral
// says: .* it cannot start as zeros; give it another start
// shows: operation<(cairn::)?fixed_string<\d+>\{"spectral_norm"\}, float ?\[8\]\[3\]>
constexpr initial start = initial::orthogonal(0);  // wrong
constexpr initial start = initial::orthogonal();   // right
constexpr auto y = input<"x", 8, 3> | nn::spectral_norm(nn::linear<"fc", 4, start>);
static_assert(an_expression<decltype(y)>);

// case: meaningless-setting-topk
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<5>\{"topk"\}, float ?\[8\]\[4\]>
// shows: setting<(cairn::)?fixed_string<2>\{"k"\}, 5\.0.*\{"from 1 to the extent of the axis"\}>
constexpr auto largest = topk<5>(input<"x", 8, 4>);  // wrong
constexpr auto largest = topk<4>(input<"x", 8, 4>);  // right
static_assert(an_expression<decltype(largest)>);

// case: meaningless-setting-as-indices
// says: this setting has a value that cannot be meant
// shows: operation<(cairn::)?fixed_string<11>\{"as_indices"\}, float ?\[8\]>
// shows: setting<(cairn::)?fixed_string<6>\{"bound"\}, 0\.0.*\{"from 1 to 2\^24"\}>
constexpr auto rows = as_indices<0>(input<"x", 8>);           // wrong
constexpr auto rows = as_indices<16777216>(input<"x", 8>);    // right
static_assert(an_expression<decltype(rows)>);
