// The values that a training step stores without segments. A gradient rule reads the argument of its operation, the
// result, both or nothing.
#include "cairn/op/matmul.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/linear.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

// The bytes of a tensor {8}, which is the shape of all values below unless another is stated.
constexpr std::int64_t row = 8 * sizeof(float);
constexpr auto x = input<"x", 8>;
// A value that a kernel computes, so that the value is stored and not recomputed. Neither its own gradient rule nor the
// rule of sum reads a value.
constexpr auto h = reshape<8>(transpose(reshape<4, 2>(param<"w", 8>)));

enum class read { nothing, argument, result, both };

/// If a gradient rule reads both, the result is recomputed from the argument.
template <class F>
constexpr read read_by(F) {
  using step = step_of<sum(F{}(h))>;
  constexpr const auto& g = step::graph;
  const bool argument = reads<step>("transpose");
  const bool result = reads<step>(g.op(g.argument(g.outputs[0], 0)).name);
  const bool again = step::schedule.recomputed[0].operations > 0;
  if (stored<step> != row * (argument + result)) throw "something else is stored";
  if (again && (!argument || result)) throw "computed again from nothing";
  if (again || (argument && result)) return read::both;
  return argument ? read::argument : result ? read::result : read::nothing;
}
static_assert(read_by([](auto v) { return -v; }) == read::nothing);
static_assert(read_by([](auto v) { return 1_c - v; }) == read::nothing);
static_assert(read_by([](auto v) { return v * 2_c; }) == read::nothing);
static_assert(read_by([](auto v) { return v / 2_c; }) == read::nothing);
static_assert(read_by([](auto v) { return v * x; }) == read::nothing);  // x is a leaf and needs no gradient
static_assert(read_by([](auto v) { return v * param<"p", 8>; }) == read::argument);
static_assert(read_by([](auto v) { return v * v; }) == read::argument);
static_assert(read_by([](auto v) { return 2_c / v; }) == read::both);
static_assert(read_by(nn::exp) == read::result);
static_assert(read_by([](auto v) { return log(v); }) == read::argument);
static_assert(read_by([](auto v) { return sqrt(v); }) == read::result);
static_assert(read_by(nn::square) == read::argument);
static_assert(read_by(nn::tanh) == read::argument);
static_assert(read_by(nn::sigmoid) == read::argument);
static_assert(read_by(nn::relu) == read::result);
static_assert(read_by(nn::gelu) == read::argument);
static_assert(read_by([](auto v) { return maximum(v, 0_c); }) == read::argument);
static_assert(read_by([](auto v) { return sum(v); }) == read::nothing);
static_assert(read_by([](auto v) { return mean(v); }) == read::nothing);
static_assert(read_by(nn::dropout<"d">) == read::nothing);
static_assert(read_by(nn::softmax) == read::result);
static_assert(read_by(nn::log_softmax) == read::result);
static_assert(read_by([](auto v) { return reshape<2, 4>(v); }) == read::nothing);
static_assert(read_by([](auto v) { return transpose(reshape<2, 4>(v)); }) == read::nothing);
static_assert(read_by([](auto v) { return matmul(input<"a", 3, 8>, reshape<8, 1>(v)); }) == read::nothing);
static_assert(read_by([](auto v) { return matmul(param<"a", 3, 8>, reshape<8, 1>(v)); }) == read::argument);
static_assert(read_by([](auto v) { return nn::linear_without_bias<"l", 3>(reshape<1, 8>(v)); }) ==
              read::argument);
// A loss stores the values that its gradient rule reads. For cross_entropy, they are the logits. For mse, it is the
// difference that mse squares.
constexpr auto label = labels<"label", 8>;
static_assert(stored<step_of<cross_entropy(h, label)>> == row && reads<step_of<cross_entropy(h, label)>>("transpose"));
static_assert(stored<step_of<mse(h, x)>> == row && reads<step_of<mse(h, x)>>("sub"));
static_assert(stored<step_of<outputs(cross_entropy(h, label), accuracy(h, label))>> == row);

}  // namespace
