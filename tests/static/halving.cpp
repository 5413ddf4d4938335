// Recursive halving of a chain, as a user writes it. The stored bytes grow with log n, and the number of recomputed
// operations grows with n log n.
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

#include <bit>

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// A chain of N layers. The first half of the chain is a segment, and each half is halved again.
template <int N, class Layer>
constexpr auto halved(Layer layer) {
  if constexpr (N == 1) return layer;
  else return block<"l">(ckpt<"half", allow_useless>(halved<N / 2>(layer))) | block<"r">(halved<N - N / 2>(layer));
}

constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 4>;
constexpr auto unit = nn::linear<"fc", 4> | nn::softmax;
template <int N>
constexpr auto model = sum(h | halved<N>(unit));
constexpr std::int64_t value = 8 * 4 * sizeof(float);  // bytes of every value

template <int N>
constexpr bool as_it_should_be() {
  using step = step_of<model<N>>;
  using plainly = step_of<model<N>, plain>;
  constexpr int halvings = std::bit_width(unsigned{N}) - 1;
  // The plain program stores the argument of the first layer and each result. The halved program stores this argument,
  // one result for each halving, and the last result.
  static_assert(stored<plainly> == (N + 1) * value);
  static_assert(stored<step> == (halvings + 2) * value);
  // A segment with a chain of n operations recomputes n - 1 of them, because the last result is stored. This holds for
  // each half, and for the halves of the halves.
  static_assert(runs_of<step>("softmax") == runs{N, N / 2 * halvings - N + 1});
  static_assert(runs_of<plainly>("softmax") == runs{N, 0});
  return true;
}
static_assert(as_it_should_be<4>());
static_assert(as_it_should_be<8>());
static_assert(as_it_should_be<16>());
static_assert(as_it_should_be<32>());
// Here the counts are plain numbers.
static_assert(stored<step_of<model<4>>> == 4 * value && runs_of<step_of<model<4>>>("softmax") == runs{4, 1});
static_assert(stored<step_of<model<8>>> == 5 * value && runs_of<step_of<model<8>>>("softmax") == runs{8, 5});
static_assert(stored<step_of<model<16>>> == 6 * value && runs_of<step_of<model<16>>>("softmax") == runs{16, 17});
// The peak grows as slowly as the stored bytes.
static_assert(peak<step_of<model<32>>> - peak<step_of<model<16>>> == value);

}  // namespace
