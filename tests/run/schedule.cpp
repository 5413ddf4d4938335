#include "cairn/train/schedule.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

using cairn::constant_rate, cairn::cosine, cairn::linear_rate, cairn::on_plateau, cairn::one_cycle, cairn::step_rate;

namespace {

constexpr constant_rate fixed{.peak = 0.5};
static_assert(fixed(0) == 0.5 && fixed(1'000'000) == 0.5);

constexpr constant_rate rising{.peak = 0.5, .warm_up = 3};
static_assert(rising(0) == 0.125 && rising(1) == 0.25 && rising(2) == 0.375 && rising(3) == 0.5 && rising(4) == 0.5);

constexpr cosine plain{.peak = 5e-4, .steps = 2345};
static_assert(plain(0) == 5e-4 && plain(2345) == 0 && plain(9999) == 0);

constexpr cosine warmed{.peak = 1, .steps = 103, .warm_up = 3};
static_assert(warmed(0) == 0.25 && warmed(2) == 0.75 && warmed(3) == 1 && warmed(103) == 0);

constexpr linear_rate falling{.peak = 1, .steps = 8, .warm_up = 3, .last = 0.5};
static_assert(falling(0) == 0.25 && falling(3) == 1 && falling(4) == 0.9 && falling(8) == 0.5 && falling(99) == 0.5);
static_assert(linear_rate{.peak = 1, .steps = 4}(1) == 0.75 && linear_rate{.peak = 1, .steps = 4}(4) == 0);

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule_suite)

BOOST_AUTO_TEST_CASE(cosine_falls_from_peak_to_zero) {
  BOOST_TEST(warmed(28) == 0.853553390593273762, boost::test_tools::tolerance(1e-14));  // cos(pi/8)^2
  BOOST_TEST(warmed(53) == 0.5, boost::test_tools::tolerance(1e-14));
  for (int step = 3; step < 103; ++step) BOOST_TEST(warmed(step) > warmed(step + 1));
}

BOOST_AUTO_TEST_CASE(step_rate_falls_as_step_lr_does) {
  const auto near = boost::test_tools::tolerance(1e-14);
  const step_rate by_tenths{.peak = 0.05, .every = 30};  // the rates in PyTorch's documentation of StepLR
  for (const auto& [step, rate] :
       {std::pair{0, 0.05}, {29, 0.05}, {30, 0.005}, {59, 0.005}, {60, 0.0005}, {89, 0.0005}})
    BOOST_TEST(by_tenths(step) == rate, near);
  const step_rate warmed{.peak = 1, .every = 2, .factor = 0.5, .warm_up = 3};
  for (const auto& [step, rate] : {std::pair{0, 0.25}, {1, 0.5}, {2, 0.375}, {3, 0.5}, {4, 0.25}, {10, 0.03125}})
    BOOST_TEST(warmed(step) == rate, near);
}

BOOST_AUTO_TEST_CASE(one_cycle_has_one_top_and_ends_low) {
  const auto near = boost::test_tools::tolerance(1e-14);
  const one_cycle rate{.peak = 1, .steps = 20};
  BOOST_TEST(rate(0) == 0.04, near);
  BOOST_TEST(rate(5) == 1, near);
  BOOST_TEST(rate(19) == 4e-6, near);
  BOOST_TEST(rate(1000) == rate(19));
  for (int step = 0; step < 19; ++step) BOOST_TEST((step < 5) == (rate(step) < rate(step + 1)));
  for (const std::int64_t steps : {1, 2}) BOOST_TEST((one_cycle{.peak = 1, .steps = steps}(0)) <= 1);
}

BOOST_AUTO_TEST_CASE(a_plateau_continues_with_its_state) {
  on_plateau whole{.peak = 1, .factor = 0.5, .patience = 1, .cooldown = 1}, half = whole;
  const auto observe = [](on_plateau& rate, int first, int last) {
    for (int i = first; i < last; ++i) rate.observe(std::abs(i - 3) + 1);
  };
  observe(whole, 0, 15);
  for (int stop = 0; stop < 15; ++stop) {
    observe(half = {.peak = 1, .factor = 0.5, .patience = 1, .cooldown = 1}, 0, stop);
    on_plateau resumed{.peak = 1, .factor = 0.5, .patience = 1, .cooldown = 1, .state = half.state};
    observe(resumed, stop, 15);
    BOOST_TEST(resumed(0) == whole(0));
  }
  BOOST_TEST(whole(0) == 0.0625);
  // A rate that is as small as a double can be does not fall any more.
  BOOST_TEST((on_plateau{.peak = 1, .factor = 0.9, .state = {.reductions = std::int64_t{1} << 62}}(0)) == 0);
}
BOOST_AUTO_TEST_CASE(a_result_that_is_no_number_is_never_better) {
  on_plateau rate{.peak = 1, .factor = 0.5, .patience = 1};
  for (const double result : {std::nan(""), 2.0, std::nan(""), std::nan("")}) rate.observe(result);
  BOOST_TEST(rate.state.best == 2);
  BOOST_TEST(rate(7) == 0.5);
}

// The message names each setting, its allowed values and its value.
BOOST_AUTO_TEST_CASE(meaningless_settings_of_rates_are_refused) {
  const auto refuses = [](auto rate, std::string_view text) {
    BOOST_CHECK_EXCEPTION(rate(3), std::invalid_argument, [&](const auto& e) { return e.what() == text; });
  };
  const double infinity = std::numeric_limits<double>::infinity();
  refuses(cosine{.peak = 1, .steps = 0}, "cairn: cosine.steps: expected 1 or more, got 0");
  refuses(cosine{.peak = -1, .steps = 9}, "cairn: cosine.peak: expected 0 or more, finite in float, got -1");
  const std::string_view no_peak = ".peak: expected 0 or more, finite in float, got nan";
  refuses(constant_rate{}, "cairn: constant_rate" + std::string(no_peak));
  refuses(cosine{.steps = 9}, "cairn: cosine" + std::string(no_peak));
  refuses(step_rate{.every = 3}, "cairn: step_rate" + std::string(no_peak));
  refuses(linear_rate{.steps = 9}, "cairn: linear_rate" + std::string(no_peak));
  refuses(one_cycle{.steps = 9}, "cairn: one_cycle" + std::string(no_peak));
  refuses(on_plateau{}, "cairn: on_plateau" + std::string(no_peak));
  refuses(cosine{.peak = 1, .steps = 9, .warm_up = 9}, "cairn: cosine.warm_up: expected below .steps, got 9");
  refuses(cosine{.peak = 1, .steps = 9, .warm_up = -1}, "cairn: cosine.warm_up: expected from 0 to 2^62, got -1");
  refuses(step_rate{.peak = 1, .every = 0}, "cairn: step_rate.every: expected 1 or more, got 0");
  refuses(step_rate{.peak = 1, .every = -1}, "cairn: step_rate.every: expected 1 or more, got -1");
  refuses(step_rate{.peak = 1, .every = 3, .factor = -0.5},
          "cairn: step_rate.factor: expected 0 or more, finite in float, got -0.5");
  refuses(step_rate{.peak = infinity, .every = 3}, "cairn: step_rate.peak: expected 0 or more, finite in float, got inf");
  refuses(linear_rate{.peak = 1, .steps = 0}, "cairn: linear_rate.steps: expected 1 or more, got 0");
  refuses(linear_rate{.peak = 1, .steps = 5, .warm_up = 5}, "cairn: linear_rate.warm_up: expected below .steps, got 5");
  refuses(linear_rate{.peak = 1, .steps = 5, .last = -1},
          "cairn: linear_rate.last: expected 0 or more, finite in float, got -1");
  refuses(one_cycle{.peak = 1, .steps = 9, .rising = 1}, "cairn: one_cycle.rising: expected 0 or more, below 1, got 1");
  refuses(one_cycle{.peak = 1, .steps = 9, .start_divisor = 0.5},
          "cairn: one_cycle.start_divisor: expected 1 or more, got 0.5");
  refuses(one_cycle{.peak = 1, .steps = 9, .end_divisor = infinity},
          "cairn: one_cycle.end_divisor: expected 1 or more, got inf");
  refuses(on_plateau{.peak = 1, .factor = 1}, "cairn: on_plateau.factor: expected 0 or more, below 1, got 1");
  refuses(on_plateau{.peak = 1, .patience = -1}, "cairn: on_plateau.patience: expected 0 or more, finite in float, got -1");
  refuses(on_plateau{.peak = 1, .threshold = 1},
          "cairn: on_plateau.threshold: expected 0 or more, below 1 without .is_absolute, got 1");
  refuses(on_plateau{.peak = 1, .threshold = infinity, .is_absolute = true},
          "cairn: on_plateau.threshold: expected 0 or more, finite in float, got inf");
  BOOST_TEST((on_plateau{.peak = 1, .threshold = 2, .is_absolute = true}(3)) == 1);
  refuses(on_plateau{.peak = 1, .least = 2}, "cairn: on_plateau.least: expected 0 to .peak, got 2");
  refuses(constant_rate{.peak = std::nan("")}, "cairn: constant_rate.peak: expected 0 or more, finite in float, got nan");
  refuses(constant_rate{.peak = 1, .warm_up = -5}, "cairn: constant_rate.warm_up: expected from 0 to 2^62, got -5");
}

BOOST_AUTO_TEST_SUITE_END()
