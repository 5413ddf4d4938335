// The outermost call reports this mistake.
//
// The probability is the share of numbers that are dropped, or that are 1 in a `random_bernoulli`. Give a number from 0
// to below 1.

#include "cairn/nn/dropout.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/op/attention.hpp"
#include "cairn/op/random_numbers.hpp"

using namespace cairn;

// case: wrong-probability
// says: elements are dropped, or are 1, with a probability from 0 to below 1
// shows: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
// shows: operation<cairn::fixed_string<25>\{"dropout\(argument 0, \.\.\.\)"\}, float ?\[4\]\[8\]
// shows: fact::probability<1\.
constexpr double probability = 1;     // wrong
constexpr double probability = 0.99;  // right
constexpr auto body = [](auto) { return ckpt<"ff">(nn::dropout<"d", probability>); };
constexpr auto loss = sum(input<"x", 4, 8> | repeat<2, "block">(body));
static_assert(an_expression<decltype(loss)>);

// case: wrong-probability-attention
// says: elements are dropped, or are 1, with a probability from 0 to below 1
// shows: operation<cairn::fixed_string<\d+>\{"attention"\}, float ?\[2\]\[9\]\[4\]\[8\]
// shows: fact::probability<1\.
constexpr auto k = input<"k", 2, 9, 4, 8>;
constexpr int probability = 1;  // wrong
constexpr int probability = 0;  // right
constexpr auto y = nn::attention<"drop", probability>(k, k, k);
static_assert(an_expression<decltype(y)>);

// case: wrong-probability-bernoulli
// says: elements are dropped, or are 1, with a probability from 0 to below 1
// shows: fact::in<cairn::fixed_string<2>\{"m"\}>
// shows: fact::probability<1\.5
constexpr double probability = 1.5;  // wrong
constexpr double probability = 0.5;  // right
constexpr auto y = random_bernoulli<"m", probability, 4, 8>;
static_assert(an_expression<decltype(y)>);

// case: wrong-probability-recurrent
// says: elements are dropped, or are 1, with a probability from 0 to below 1
// shows: fact::in<cairn::fixed_string<8>\{"net.gru"\}>
// shows: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\]>
// shows: fact::probability<1\.
constexpr nn::recurrent_options stacked{.num_layers = 2, .dropout = 1};    // wrong
constexpr nn::recurrent_options stacked{.num_layers = 2, .dropout = 0.9};  // right
constexpr auto y = input<"x", 8, 5, 3> | block<"net">(nn::gru<"gru", 4, stacked>);
static_assert(an_expression<decltype(y)>);

// case: wrong-probability-drop-path
// says: elements are dropped, or are 1, with a probability from 0 to below 1
// shows: fact::in<cairn::fixed_string<5>\{"drop"\}>
// shows: operation<cairn::fixed_string<\d+>\{"drop_path"\}, float ?\[4\]\[8\]>
// shows: fact::probability<1\.
constexpr double probability = 1;    // wrong
constexpr double probability = 0.2;  // right
constexpr auto y = input<"x", 4, 8> | nn::residual(nn::linear<"fc", 8> | nn::drop_path<"drop", probability>);
static_assert(an_expression<decltype(y)>);
