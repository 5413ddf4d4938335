// Update rules that read whole tensors. Their values are planned as all others, so they obey the same laws: no two live
// values overlap, the training step touches the planned bytes, and segments, threads and files change no bit.
#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"
#include "cairn/report/tables.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "overlap.hpp"
#include "run/folder.hpp"

using namespace cairn;

namespace {

template <int Rows>
constexpr auto x = input<"x", Rows, 12>;
template <int Rows>
constexpr auto y = labels<"y", 4, Rows>;
constexpr auto body = nn::linear<"fc1", 24> | nn::gelu | nn::linear<"fc2", 12>;
constexpr auto blocks = repeat<2, "block">([](auto) { return ckpt<"ff">(nn::residual(body)); });
template <int Rows>
constexpr auto dense = cross_entropy(x<Rows> | blocks | nn::linear<"head", 4>, y<Rows>);
// The weights are read through a transpose, in a scan, and in a penalty of the loss.
constexpr auto w = param<"s.fc2.weight", 12, 12>;
constexpr auto scanned = mean(square(scan<3, "step">([](auto h) { return tanh(h | nn::linear<"fc1", 12>); },
                                                     carried(matmul(x<16>, transpose(w)))))) +
                         0.1_c * sum(square(w));

/// Each rule of whole tensors has some of the parameters. Adafactor has matrices and vectors.
template <auto Loss, class... Options>
using trained = program<Loss, update<adafactor_options{}>, update<muon_options{}, "*.fc1.weight">,
                        update<lamb_options{}, "*.fc2.weight">, Options...>;
template <auto Loss, class... Options>
using plan_of = test::step_of<Loss, update<adafactor_options{}>, update<muon_options{}, "*.fc1.weight">,
                              update<lamb_options{}, "*.fc2.weight">, Options...>;

const std::vector<float>& rows() {
  static const auto all = [] {
    std::vector<float> numbers(64 * 12);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i * 7 + 1));
    return numbers;
  }();
  return all;
}
const std::vector<std::int32_t>& classes() {
  static const auto all = [] {
    std::vector<std::int32_t> numbers(64);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 5 % 4);
    return numbers;
  }();
  return all;
}
template <class Program>
std::vector<double> all_parameters(Program& step) {
  std::vector<double> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}
template <int Rows = 16>
const auto batch_of = [](auto& step, int first) {
  return step.train({.lr = 0.02}, bind<"x">(std::span(rows()).subspan(static_cast<std::size_t>(12 * first), 12 * Rows)),
                    bind<"y">(std::span(classes()).subspan(static_cast<std::size_t>(first), Rows)));
};
const auto rows_of = [](auto& step, int first) {
  return step.train({.lr = 0.02}, bind<"x">(std::span(rows()).subspan(static_cast<std::size_t>(12 * first), 12 * 16)));
};

/// Compares the parameters of two programs after three training steps.
template <class One, class Other>
void same(auto train) {
  One one;
  Other other;
  one.init(seed{1});
  other.init(seed{1});
  const auto before = all_parameters(one);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(train(one, i) == train(other, i));
    BOOST_TEST(all_parameters(one) == all_parameters(other));
  }
  BOOST_TEST(all_parameters(one) != before);
  for (const double number : all_parameters(one)) BOOST_REQUIRE(std::isfinite(number));
}
template <auto Loss, class... Options>
void touches_what_is_planned(const auto&... inputs) {
  BOOST_TEST((test::judged<plan_of<Loss, Options...>>() == test::fault::none));
  trained<Loss, Options...> step;
  step.init(seed{1});
  BOOST_TEST(report::touched_bytes(step, inputs...) == (test::covered<plan_of<Loss, Options...>>()));
}

/// No finite gradient makes a parameter infinite or NaN, and no infinite gradient passes for a large one.
template <auto Rule, int... Extents>
void takes_all_gradients() {
  using limits = std::numeric_limits<float>;
  program<sum(param<"w", Extents...> * input<"g", Extents...>), update<Rule>> step;
  const std::vector<float> extreme{
      limits::max(),      -limits::max(),    std::sqrt(limits::max()) * 10, 1, 0, -limits::denorm_min(),
      limits::min() * 10, -limits::max() / 3};
  std::vector<float> gradient(step.template param<"w">().size());
  for (const double rate : {0.0, 1e-3, 1e3}) {
    step.init(seed{1});
    for (std::size_t i = 0; i < 40; ++i) {
      for (std::size_t k = 0; k < gradient.size(); ++k)
        gradient[k] = extreme[(k * k + i * (k % 5 + i / 10)) % extreme.size()];
      if (i % 4 == 3) std::ranges::fill(gradient, i % 8 == 3 ? 0.F : limits::denorm_min());
      step.train({.lr = rate}, bind<"g">(gradient));
      for (const double number : all_parameters(step)) BOOST_REQUIRE(std::isfinite(number));
    }
  }
  step.init(seed{1});
  gradient[1] = limits::infinity();
  step.train(bind<"g">(gradient));
  BOOST_TEST(std::isnan(all_parameters(step)[1]));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(whole_rules)

BOOST_AUTO_TEST_CASE(segments_and_threads_change_no_bit) {
  same<trained<dense<16>>, trained<dense<16>, plain>>(batch_of<16>);
  same<trained<dense<16>, clip<0.1>>, trained<dense<16>, clip<0.1>, plain>>(batch_of<16>);
  same<trained<dense<16>, mixed<bf16>>, trained<dense<16>, mixed<bf16>, plain>>(batch_of<16>);
  same<trained<scanned>, trained<scanned, plain>>(rows_of);
#ifdef _OPENMP
  same<trained<dense<16>>, trained<dense<16>, threads<3>>>(batch_of<16>);
#endif
}
BOOST_AUTO_TEST_CASE(the_planned_bytes_are_touched) {
  const auto x = bind<"x">(std::span(rows()).first(12 * 16));
  const auto y = bind<"y">(std::span(classes()).first(16));
  touches_what_is_planned<dense<16>>(x, y);
  touches_what_is_planned<dense<16>, clip<0.1>>(x, y);
  touches_what_is_planned<scanned>(x);
}
BOOST_AUTO_TEST_CASE(a_saved_run_goes_on_with_the_same_bits) {
  const folder here;
  trained<dense<16>> whole, resumed;
  whole.init(seed{1});
  for (int i = 0; i < 2; ++i) batch_of<16>(whole, i);
  whole.save(here.path / "run.safetensors");
  resumed.load(here.path / "run.safetensors");
  for (int i = 2; i < 4; ++i) BOOST_TEST(batch_of<16>(whole, i) == batch_of<16>(resumed, i));
  BOOST_TEST(all_parameters(whole) == all_parameters(resumed));
}
// The updates of a batch in parts are those of a whole batch, up to the order in which gradients are summed.
BOOST_AUTO_TEST_CASE(a_batch_in_parts) {
  const auto run = [](auto step) {
    step.init(seed{1});
    batch_of<32>(step, 0);
    return all_parameters(step);
  };
  const auto whole = run(trained<dense<32>>{}), parts = run(trained<dense<16>, microbatch<2>>{});
  for (std::size_t i = 0; i < whole.size(); ++i) BOOST_TEST(std::abs(parts[i] - whole[i]) < 1e-4);
  BOOST_TEST(run(trained<dense<16>, shards<2>>{}) == parts);
}
BOOST_AUTO_TEST_CASE(programs_that_share_memory_share_moments) {
  trained<dense<32>> longer;
  trained<dense<16>> alone, shorter{longer};
  longer.init(seed{1});
  alone.init(seed{1});
  for (int i = 0; i < 3; ++i) BOOST_TEST(batch_of<16>(shorter, i) == batch_of<16>(alone, i));
  BOOST_TEST(all_parameters(longer) == all_parameters(alone));
}
BOOST_AUTO_TEST_CASE(averages_next_to_other_moments) {
  program<dense<16>, update<averaged{adafactor_options{}, 0.5}>, update<averaged{muon_options{}, 0.5}, "*.fc1.weight">,
          update<averaged{lamb_options{}, 0.5}, "*.fc2.weight">>
      averaging;
  trained<dense<16>> expected;
  averaging.init(seed{1});
  expected.init(seed{1});
  for (int i = 0; i < 2; ++i) BOOST_TEST(batch_of<16>(averaging, i) == batch_of<16>(expected, i));
  const auto last = all_parameters(averaging);
  BOOST_TEST(last == all_parameters(expected));
  averaging.exchange("average");
  BOOST_TEST(all_parameters(averaging) != last);
  averaging.exchange("average");
  BOOST_TEST(all_parameters(averaging) == last);
}

// Adafactor stores the means of rows and columns only. A moment of another shape cannot stand in place of a parameter.
BOOST_AUTO_TEST_CASE(moments_of_other_shapes) {
  trained<dense<16>> step;
  BOOST_TEST((step.moment<"head.weight", "row_var">().shape() == std::array<std::size_t, 2>{4, 1}));
  BOOST_TEST((step.moment<"head.weight", "col_var">().shape() == std::array<std::size_t, 2>{1, 12}));
  BOOST_TEST((step.moment<"head.bias", "row_var">().shape() == std::array<std::size_t, 1>{4}));
  step.init(seed{1});
  for (const char* moment : {"row_var", "col_var"}) BOOST_CHECK_THROW(step.exchange(moment), program_error);
}

BOOST_AUTO_TEST_CASE(finite_gradients_leave_all_numbers_finite) {
  takes_all_gradients<lamb_options{}, 4, 3>();
  takes_all_gradients<lamb_options{.beta1 = 0, .beta2 = 0, .epsilon = 0, .weight_decay = 1}, 5>();
  takes_all_gradients<adafactor_options{}, 4, 3>();
  takes_all_gradients<adafactor_options{.beta2_decay = 0, .epsilon1 = 0, .epsilon2 = 0, .weight_decay = 1}, 5>();
  takes_all_gradients<muon_options{}, 4, 3>();
  takes_all_gradients<muon_options{.momentum = 0, .nesterov = false, .epsilon = 0}, 2, 3>();
}
BOOST_AUTO_TEST_CASE(the_trust_ratio_scales_a_step_with_its_parameter) {
  program<sum(param<"w", 2, 3> * input<"g", 2, 3>), update<lamb_options{.weight_decay = 0}>> step;
  const std::vector<float> gradient{1, -2, 3, -4, 5, -6};
  for (const float size : {0.F, 1.F, 100.F}) {
    step.init(seed{1});
    step.set(bind<"w">(std::vector<float>(6, size)));
    step.train({.lr = 0.1}, bind<"g">(gradient));
    // In the first step, the direction is the sign of the gradient. The ratio of its norm to that of `w` is `size`.
    for (std::size_t i = 0; i < 6; ++i) {
      const float moved = 0.1F * (size == 0 ? 1 : size) * (gradient[i] > 0 ? 1 : -1);
      BOOST_TEST(all_parameters(step)[i] == static_cast<double>(size - moved), boost::test_tools::tolerance(1e-5));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
