// The properties that PyTorch's tests of checkpoints check while a training step runs. docs/conformance.md lists the
// tests.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cfenv>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace cairn;

namespace own {

/// The records of the kernel of an added operation: how often it ran, and where its argument was.
struct sightings {
  int runs = 0;
  std::vector<const void*> at;
};
std::array<sightings, 3> seen;
int fails_at = 0;  // the number of the run that throws; 0 for none

/// Returns 2 x, and records the call.
template <int Which>
struct noted_op : op {
  static constexpr fixed_string name = "noted";
  using rule = misuse::axes_exist;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g * 2_c); }
};
template <int Which, an_expression X>
constexpr made<noted_op<Which>, X> noted(X) {
  return {};
}
template <int Which, class Real, class X>
void compute(noted_op<Which>, signature<Real, X>, void* const* operands) {
  sightings& mine = seen[Which];
  mine.at.push_back(operands[1]);
  if (++mine.runs == fails_at) throw std::runtime_error("a kernel fails");
  const Real* in = static_cast<const Real*>(operands[1]);
  std::transform(in, in + X::shape.count(), static_cast<Real*>(operands[0]), [](Real x) { return 2 * x; });
}

}  // namespace own

namespace {

// The gradient of each weight reads the recorded value.
template <int Which, fixed_string Name>
constexpr auto noting = layer([](auto v) { return own::noted<Which>(v) * param<Name, 6>; });
constexpr auto layers = std::make_tuple(noting<0, "a">, noting<1, "b">, noting<2, "c">);
constexpr auto noted_loss = sum(input<"x", 6> | ckpt_sequential<3, allow_useless>(layers));
constexpr std::array<float, 6> six{1, 2, 3, 4, 5, 6};

/// Returns how often the kernel of each layer ran in a call.
std::array<int, 3> runs_in(auto call) {
  own::seen = {};
  call();
  return {own::seen[0].runs, own::seen[1].runs, own::seen[2].runs};
}

constexpr auto x = input<"x", 4, 3>;
constexpr auto inner = nn::linear<"a", 5> | nn::tanh | nn::linear<"b", 3>;
constexpr auto loss = mean(square(x | ckpt<"outer", allow_useless>(ckpt<"inner">(inner) | nn::sigmoid)));
constexpr std::array<float, 12> numbers{1, -2, 3, 0.5, 0.3F, -1, 2, 2, -3, 0, 1, 0};

/// Returns the gradients of a training step.
template <class Step = program<loss>>
std::vector<float> gradients_of() {
  Step step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers)));
  return {step.gradients().begin(), step.gradients().end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance_with_torch)

BOOST_AUTO_TEST_CASE(each_segment_except_the_last_runs_twice) {
  program<noted_loss> step;
  program<noted_loss, plain> stored;
  step.init(seed{1});
  stored.init(seed{1});
  predictor<noted_loss> predict{step};
  const std::array once{1, 1, 1}, twice{2, 2, 1};
  BOOST_TEST(runs_in([&] { static_cast<void>(predict(bind<"x">(six))); }) == once);
  BOOST_TEST(runs_in([&] { static_cast<void>(stored.value_and_grad(bind<"x">(six))); }) == once);
  BOOST_TEST(runs_in([&] { static_cast<void>(step.value_and_grad(bind<"x">(six))); }) == twice);
  for (const void* at : own::seen[0].at) BOOST_TEST(at == six.data());  // the caller's array, which is not copied
}

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_leaves_a_program_usable) {
  program<noted_loss> step;
  step.init(seed{1});
  for (float& w : step.parameters()) w = 1;
  const auto run = [&] { return step.value_and_grad(bind<"x">(six)); };
  const float expected = run();
  const std::vector<float> before(step.gradients().begin(), step.gradients().end());
  for (const int run_that_fails : {1, 2}) {  // in the forward pass, and in the recomputation
    own::seen = {};
    own::fails_at = run_that_fails;
    BOOST_CHECK_EXCEPTION(static_cast<void>(run()), std::runtime_error,
                          [](const auto& e) { return e.what() == std::string("a kernel fails"); });
    own::fails_at = 0;
    BOOST_TEST(run() == expected);
    BOOST_TEST(std::ranges::equal(step.gradients(), before));
  }
}

// PyTorch's tests change devices and modes. Here the rounding mode of the processor takes their place. A training step
// rounds to nearest whatever mode its caller has set, and restores the caller's mode.
BOOST_AUTO_TEST_CASE(the_rounding_mode_of_the_caller_changes_no_bit) {
  const auto to_nearest = gradients_of();
  std::fesetround(FE_UPWARD);
  const auto upward = gradients_of(), upward_plain = gradients_of<program<loss, plain>>();
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  BOOST_TEST(mode == FE_UPWARD);
  BOOST_TEST(upward == upward_plain);
  BOOST_TEST(upward == to_nearest);
}

#ifdef __SSE__
BOOST_AUTO_TEST_CASE(flush_to_zero_in_the_caller_changes_no_bit) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush results to zero, and read denormal numbers as zero
  const auto flushed = gradients_of(), flushed_plain = gradients_of<program<loss, plain>>();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  BOOST_TEST((after & 0x8040U) == 0x8040U);
  BOOST_TEST(flushed == flushed_plain);
  BOOST_TEST(flushed == gradients_of());
}
#endif

BOOST_AUTO_TEST_CASE(programs_in_several_threads_share_nothing) {
  const auto alone = gradients_of();
  std::array<std::vector<float>, 4> together;
  std::vector<std::thread> threads;
  for (auto& each : together) threads.emplace_back([&each] { each = gradients_of(); });
  for (std::thread& t : threads) t.join();
  for (const auto& each : together) BOOST_TEST(each == alone);
}

BOOST_AUTO_TEST_CASE(step_two_thousand_equals_the_first_step) {
  const auto first = gradients_of();
  program<loss> step;
  step.init(seed{3});
  for (int i = 0; i < 2000; ++i) static_cast<void>(step.value_and_grad(bind<"x">(numbers)));
  BOOST_TEST(std::ranges::equal(step.gradients(), first));
}

BOOST_AUTO_TEST_CASE(gradients_of_the_backward_pass_equal_those_of_grad) {
  program<loss> step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers)));
  predictor<grad(loss, param<"a.weight", 5, 3>)> asked{step};
  BOOST_TEST(std::ranges::equal(asked(bind<"x">(numbers)), step.grad<"a.weight">()));
}

// f, c(f) and c(c(f)), up to the third derivative: tanh''' = (1 - t^2) (6 t^2 - 2).
BOOST_AUTO_TEST_CASE(every_nesting_has_the_same_third_derivative) {
  constexpr auto w = param<"w">;
  constexpr auto f = [](auto v) { return tanh(v); };
  constexpr auto third = [](auto value) { return grad(grad(grad(value, param<"w">), param<"w">), param<"w">); };
  constexpr auto once = ckpt<"c", allow_useless>(f, w);
  constexpr auto twice = ckpt<"o", allow_useless>(ckpt<"i", allow_useless>(layer(f)))(w);
  program<once> step;
  step.param<"w">()() = 0.5F;
  predictor<outputs(third(f(w)), third(once), third(twice))> predict{step};
  const auto [plainly, of_one, of_two] = predict();
  const float t = std::tanh(0.5F);
  BOOST_TEST(std::abs(plainly - (1 - t * t) * (6 * t * t - 2)) < 1e-6F);
  BOOST_TEST(of_one == plainly);
  BOOST_TEST(of_two == plainly);
}

BOOST_AUTO_TEST_SUITE_END()
