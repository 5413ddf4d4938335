// `nn::tiled` reports this mistake if the result of the layer has other rows than its argument. The program reports it
// for all other layers.
//
// A tiled layer runs on one group of rows after another, so it must treat rows independently: each row of its result is
// computed from the same row of its argument, and in the same way for each row. The message shows the first operation
// for which this is not certain. There are four kinds:
//
// - The operation computes a row from other rows, for example a mean over the batch, a batch norm, or a roll.
// - The operation combines a row with a value that has rows of its own, for example with `arange<64>` or with a
//   parameter that has a row for each row of the group. Each group would see the same rows of this value. Pass the value
//   as a further argument, which is divided as well: `nn::tiled<4>(f, x, positions)`.
// - The operation moves rows to another axis. Reshape or transpose outside of the tiled layer.
// - The operation is your own and does not declare [keeps_rows](add-an-operation.md#rows-of-tiled-layers).
//
// A batch norm also updates its running statistics. Each group would update them.

#include "cairn/check/scan.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/batch_norm.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/norm.hpp"
#include "cairn/nn/recurrent.hpp"
#include "cairn/op/attention.hpp"
#include "cairn/op/roll.hpp"
#include "cairn/op/softmax.hpp"
#include "cairn/run/program.hpp"
#include "cairn/run/scan.hpp"

using namespace cairn;

// case: mixes-rows
// says: this operation in a tiled layer may compute a row from other rows or from its position
// shows: fact::operation<cairn::fixed_string<8>\{"moments"\}, float ?\[16\]\[32\]>, cairn::fact::groups<4>
constexpr auto layers = nn::linear<"fc1", 32> | nn::batch_norm<"norm"> | nn::gelu | nn::linear<"fc2", 8>;  // wrong
constexpr auto layers = nn::linear<"fc1", 32> | nn::layer_norm<"norm"> | nn::gelu | nn::linear<"fc2", 8>;  // right
constexpr auto loss = mean(square(input<"x", 64, 8> | nn::tiled<4>(layers)));
static_assert(detail::checked<loss>());

// case: mixes-rows-up-to
// says: this operation in a tiled layer may compute a row from other rows or from its position
// shows: fact::operation<cairn::fixed_string<8>\{"moments"\}, float ?\[16\]\[32\]>, cairn::fact::groups<4>
constexpr auto layers = nn::linear<"fc1", 32> | nn::batch_norm<"norm"> | nn::gelu | nn::linear<"fc2", 8>;  // wrong
constexpr auto layers = nn::linear<"fc1", 32> | nn::layer_norm<"norm"> | nn::gelu | nn::linear<"fc2", 8>;  // right
constexpr auto loss = mean(square(input<"x", 64, 8> | nn::tiled<up_to<4>>(layers)));
static_assert(detail::checked<loss>());

// case: mixes-rows-softmax
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<8>\{"softmax"\}, float ?\[4\]\[16\]\[16\]>
constexpr auto over_keys = [](auto scores) { return softmax<0>(scores); };   // wrong
constexpr auto over_keys = [](auto scores) { return softmax<-1>(scores); };  // right
constexpr auto loss = mean(square(param<"scores", 16, 16, 16> | nn::tiled<4>(layer(over_keys))));
static_assert(detail::checked<loss>());

// case: mixes-rows-product
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<7>\{"matmul"\}, float ?\[16\]\[16\], float ?\[16\]\[8\]>
constexpr auto product = [](auto h) { return matmul(param<"w", 16, 16>, h); };  // wrong
constexpr auto product = [](auto h) { return matmul(h, param<"w", 8, 8>); };    // right
constexpr auto loss = mean(square(input<"x", 64, 8> | nn::tiled<4>(layer(product))));
static_assert(detail::checked<loss>());

// case: mixes-rows-mean
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<4>\{"sum"\}, float ?\[16\]\[8\]>
constexpr auto centered = [](auto h) { return h - mean<0>(h); };            // wrong
constexpr auto centered = [](auto h) { return h - mean<-1>(h, keepdim); };  // right
constexpr auto loss = mean(square(param<"x", 64, 8> | nn::tiled<4>(layer(centered))));
static_assert(detail::checked<loss>());

// case: mixes-rows-own-parameters
// says: this operation in a tiled layer may compute a row from other rows or from its position
// shows: fact::operation<cairn::fixed_string<4>\{"add"\}, float ?\[16\]\[8\], float ?\[16\]\[8\]>
constexpr auto shifted = [](auto h) { return h + param<"shift", 16, 8>; };  // wrong
constexpr auto shifted = [](auto h) { return h + param<"shift", 8>; };      // right
constexpr auto loss = mean(square(input<"x", 64, 8> | nn::tiled<4>(layer(shifted))));
static_assert(detail::checked<loss>());

// case: mixes-rows-positions
// says: this operation in a tiled layer may compute a row from other rows or from its position
// shows: fact::operation<cairn::fixed_string<4>\{"mul"\}, float ?\[16\], float ?\[16\]>
constexpr auto weighed = [](auto h, auto i) { return h * as_real(i); };
constexpr auto x = param<"x", 64>;
constexpr auto y = nn::tiled<4>([](auto h) { return weighed(h, arange<16>); }, x);  // wrong
constexpr auto y = nn::tiled<4>(weighed, x, arange<64>);                            // right
static_assert(detail::checked<sum(square(y))>());

// case: mixes-rows-reshape
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<8>\{"reshape"\}, float ?\[16\]\[8\]>
constexpr auto halves = [](auto h) { return reshape<16, 8>(softmax(reshape<32, 4>(h))); };       // wrong
constexpr auto halves = [](auto h) { return reshape<16, 8>(softmax(reshape<16, 2, 4>(h))); };  // right
constexpr auto loss = mean(square(param<"x", 64, 8> | nn::tiled<4>(layer(halves))));
static_assert(detail::checked<loss>());

// case: mixes-rows-roll
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<5>\{"roll"\}, float ?\[16\]\[8\]>
constexpr auto rolled = [](auto h) { return h + roll<0, 1>(h); };  // wrong
constexpr auto rolled = [](auto h) { return h + roll<1, 1>(h); };  // right
constexpr auto loss = mean(square(param<"x", 64, 8> | nn::tiled<4>(layer(rolled))));
static_assert(detail::checked<loss>());

// case: mixes-rows-scan
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<5>\{"scan"\}
constexpr auto step = [](auto h) { return tanh(h * param<"w", 8>); };
constexpr auto loop = [](auto h) { return scan<3, "step">(step, carried(h)); };                               // wrong
constexpr auto loop = [](auto h) { return h | repeat<3, "step">([](auto) { return layer(step); }); };         // right
constexpr auto loss = mean(square(param<"x", 64, 8> | nn::tiled<4>(layer(loop))));
static_assert(detail::checked<loss>());

// case: mixes-rows-state
// says: each group of a tiled layer would update this state; update it outside of nn::tiled
// shows: fact::state<cairn::fixed_string<6>\{"count"\}>, cairn::fact::groups<4>
constexpr auto counted = [](auto h) {
  constexpr auto count = state<"count", initial{}>;
  return updated(tanh(h), count, count + 1_c);  // wrong
  return tanh(h) + 0_c * count;                 // right
};
constexpr auto loss = mean(square(param<"x", 64, 8> | nn::tiled<4>(layer(counted))));
static_assert(detail::checked<loss>());

// case: mixes-rows-sum
// says: this operation in a tiled layer may compute a row from other rows
// shows: fact::operation<cairn::fixed_string<4>\{"sum"\}, float ?\[16\]\[8\]>, cairn::fact::groups<4>
constexpr auto summed = [](auto h) { return sum<0>(square(h)); };   // wrong
constexpr auto summed = [](auto h) { return sum<-1>(square(h)); };  // right
[[maybe_unused]] constexpr auto y = input<"x", 64, 8> | nn::tiled<4>(nn::tanh | layer(summed));
