// Recursive halving, as a user writes it: bytes of order log n, operations computed again of order n log n.
#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

#include <bit>

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// N layers in a row: the first half is a segment, and each half is halved again.
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
  // Plain: the argument of the first layer, and each result. Halved: that argument, and one result a halving and the
  // last.
  static_assert(stored<plainly> == (N + 1) * value);
  static_assert(stored<step> == (halvings + 2) * value);
  // Of a chain of n in a segment n - 1 are computed again, for the last is there; and so of each half, and theirs.
  static_assert(runs_of<step>("softmax") == runs{N, N / 2 * halvings - N + 1});
  static_assert(runs_of<plainly>("softmax") == runs{N, 0});
  return true;
}
static_assert(as_it_should_be<4>());
static_assert(as_it_should_be<8>());
static_assert(as_it_should_be<16>());
static_assert(as_it_should_be<32>());
// The numbers themselves.
static_assert(stored<step_of<model<4>>> == 4 * value && runs_of<step_of<model<4>>>("softmax") == runs{4, 1});
static_assert(stored<step_of<model<8>>> == 5 * value && runs_of<step_of<model<8>>>("softmax") == runs{8, 5});
static_assert(stored<step_of<model<16>>> == 6 * value && runs_of<step_of<model<16>>>("softmax") == runs{16, 17});
// What lives at once grows as slowly.
static_assert(peak<step_of<model<32>>> - peak<step_of<model<16>>> == value);

}  // namespace
