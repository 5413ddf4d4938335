// The properties that tests of JAX and MLX check while a training step runs. The numbers that these tests count are in
// tests/static/conformance_jax.cpp.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>

namespace own {

int calls = 0;

/// Returns x, and counts how often its kernel runs. Its gradient rule reads the result.
struct counted_op : cairn::op {
  static constexpr cairn::fixed_string name = "counted";
  static constexpr cairn::shape result(const cairn::shape& x) { return x; }
  static constexpr std::int64_t flops(const cairn::shape&) { return 0; }
  static constexpr auto vjp(auto g, auto y, auto) {
    using namespace cairn;
    return gradients(g + 0_c * y);
  }
};
template <cairn::an_expression X>
constexpr cairn::made<counted_op, X> counted(X) {
  return {};
}
template <class Real, class X>
void compute(counted_op, cairn::signature<Real, X>, void* const* operands) {
  ++calls;
  std::copy_n(static_cast<const Real*>(operands[1]), X::shape.count(), static_cast<Real*>(operands[0]));
}

/// Returns how often the kernel runs in a training step.
int calls_of(auto& step) {
  calls = 0;
  static_cast<void>(step.value_and_grad());
  return calls;
}

}  // namespace own

BOOST_AUTO_TEST_SUITE(conformance_jax)

using namespace cairn;

// In MLX, the values are 121, 88 and 66, and the function runs twice.
BOOST_AUTO_TEST_CASE(test_checkpointing) {
  constexpr auto fn = [](auto x, auto y) { return square(own::counted(x * y + (x + y))); };
  program<ckpt<"s", allow_useless>(fn, param<"x">, param<"y">)> step;
  program<fn(param<"x">, param<"y">)> plainly;
  step.param<"x">()() = plainly.param<"x">()() = 2;
  step.param<"y">()() = plainly.param<"y">()() = 3;
  BOOST_TEST(step.value_and_grad() == 121);
  BOOST_TEST(step.grad<"x">()() == 88);
  BOOST_TEST(step.grad<"y">()() == 66);
  BOOST_TEST(own::calls_of(step) == 2);
  BOOST_TEST(own::calls_of(plainly) == 1);
}

// JAX has two calls in the forward pass and three in the backward pass. Here the backward pass has two calls, because
// the inner result is available from the outer recomputation.
BOOST_AUTO_TEST_CASE(remat_eval_counter) {
  static constexpr auto inner = [](auto v) { return own::counted(v); };
  constexpr auto outer = [](auto v) { return own::counted(ckpt<"f", allow_useless>(inner, v)); };
  program<sum(ckpt<"g", allow_useless>(outer, tanh(param<"w", 3>)))> step;
  step.init(seed{1});
  BOOST_TEST(own::calls_of(step) == 2 + 2);
}

// The counterpart of JAX's test excess_precision_hell. A recomputed value equals the original value bit for bit, which
// the gradient of p shows.
BOOST_AUTO_TEST_CASE(recomputed_values_equal_the_values_of_the_forward_pass) {
  static constexpr auto value = nn::linear<"a", 37> | nn::gelu | nn::softmax;
  constexpr auto shown = ckpt<"s">(layer([](auto x) { return (x | value) * param<"p", 5, 37>; }));
  constexpr auto h = input<"x", 5, 13> | nn::linear<"in", 13>;
  program<sum(h | shown)> step;
  static_assert(step.flops().recomputed > 0);
  step.init(seed{1});
  std::array<float, 65> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2.7F;
  static_cast<void>(step.value_and_grad(bind<"x">(x)));
  predictor<h | value> forward{step};
  BOOST_TEST(std::ranges::equal(step.grad<"p">(), forward(bind<"x">(x))));
}

BOOST_AUTO_TEST_SUITE_END()
