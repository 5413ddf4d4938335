// The program reports this mistake.
//
// `microbatch<N, of<whole>>` promises fewer bytes than a program of the whole batch needs. A program with microbatches
// stores the gradients of all parameters until its last part has run. With `update<...>`, a program of the whole batch
// does not store them. The arena of a part must save more than that. Leave `microbatch` out, or leave `of<whole>` out if
// fewer bytes are not what you want.

#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/train/rules.hpp"

using namespace cairn;

// case: useless-microbatch
// says: this program needs at least as many bytes as one of the whole batch
// shows: divided_bytes<\d+
// shows: whole_bytes<\d+
template <int Rows>
constexpr auto loss = mean(square(input<"x", Rows, 64> | nn::linear<"a", 256> | nn::tanh | nn::linear<"b", 64>));
using parts = microbatch<4, of<loss<16>>>;    // wrong
using parts = microbatch<64, of<loss<256>>>;  // right
static_assert(detail::checked<loss<4>, parts, update<sgd_options{}>>());

// case: useless-microbatch-that-fits
// says: this program needs at least as many bytes as one of the whole batch
// shows: divided_bytes<\d+
#include "cairn/run/program.hpp"
constexpr auto loss_of = [](auto rows) {
  return mean(square(input<"x", rows, 64> | nn::linear<"a", 256> | nn::tanh | nn::linear<"b", 64>));
};
constexpr int rows = 16;    // wrong
constexpr int rows = 2048;  // right
using step = program_in_parts<loss_of, rows, budget<20_KiB>, update<sgd_options{}>>;
static_assert(step::memory().peak_bytes <= 20_KiB);
