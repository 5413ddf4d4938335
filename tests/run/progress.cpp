#include "cairn/train/progress.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

#include "run/comma_locale.hpp"

using cairn::clock_text, cairn::epoch_plan, cairn::progress, cairn::progress_line;

namespace {

/// A clock and the width of a terminal, which tests set.
struct fake_world {
  static inline double now = 0;
  static inline int width = 0;
  static double seconds() { return now; }
  static int columns(std::FILE*) { return width; }
};

/// Returns everything that an epoch of 100 training steps writes if each takes `pace` seconds.
std::string shown(int width, double pace, int steps = 100) {
  std::FILE* file = std::tmpfile();
  fake_world::now = 0;
  fake_world::width = width;
  {
    progress<fake_world> bar({.epoch = 1, .epochs = 5, .steps = 100, .batch = 128}, file);
    for (int step = 0; step < steps; ++step) {
      fake_world::now += pace;
      bar.advance(step % 2 == 0 ? 0.25 : 0.75);
    }
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

constexpr epoch_plan plan{.epoch = 1, .epochs = 5, .steps = 200, .batch = 128};

}  // namespace

BOOST_AUTO_TEST_SUITE(progress_suite)

BOOST_AUTO_TEST_CASE(clock_texts) {
  BOOST_TEST(clock_text(0) == "0:00");
  BOOST_TEST(clock_text(6.2) == "0:07");
  BOOST_TEST(clock_text(750) == "12:30");
  BOOST_TEST(clock_text(3600) == "1:00:00");
  BOOST_TEST(clock_text(1e300) == "277777:46:40");
}

BOOST_AUTO_TEST_CASE(line_for_a_file) {
  BOOST_TEST(progress_line(plan, 50, 0.5, 10) == "epoch 2/5  25%  loss 0.5  640 examples/s  0:30 left");
  BOOST_TEST(progress_line(plan, 200, 0.25, 40) == "epoch 2/5 100%  loss 0.25  640 examples/s  in 0:40");
}

BOOST_AUTO_TEST_CASE(terminal_line_fills_all_columns_but_the_last) {
  BOOST_TEST(progress_line(plan, 50, 0.5, 10, 70) ==
             "epoch 2/5 [===            ]  25%  loss 0.5  640 examples/s  0:30 left");
  for (int columns = 1; columns < 200; ++columns) {
    BOOST_TEST(progress_line(plan, 50, 0.5, 10, columns).size() == static_cast<std::size_t>(columns - 1));
  }
}

BOOST_AUTO_TEST_CASE(bar_goes_from_empty_to_full) {
  const auto bar = [](std::int64_t done) {
    const auto line = progress_line(plan, done, 0.5, 10, 200);
    return line.substr(line.find('[') + 1, line.find(']') - line.find('[') - 1);
  };
  BOOST_TEST(bar(0) == std::string(40, ' '));
  BOOST_TEST(bar(100) == std::string(20, '=') + std::string(20, ' '));
  BOOST_TEST(bar(200) == std::string(40, '='));
}

BOOST_AUTO_TEST_CASE(a_file_gets_a_line_every_ten_seconds_and_a_last_one) {
  BOOST_TEST(shown(0, 1.0 / 64) == "epoch 2/5 100%  loss 0.5  8192 examples/s  in 0:02\n");
  const auto text = shown(0, 0.5);  // 50 seconds
  BOOST_TEST(std::ranges::count(text, '\n') == 5);
  BOOST_TEST(std::ranges::count(text, '\r') == 0);
  BOOST_TEST(text.starts_with("epoch 2/5  20%  loss 0.5  256 examples/s  0:40 left\n"));
  BOOST_TEST(text.ends_with("epoch 2/5 100%  loss 0.5  256 examples/s  in 0:50\n"));
  BOOST_TEST(shown(0, 1, 3).empty());
}

BOOST_AUTO_TEST_CASE(terminals_are_redrawn_at_most_ten_times_a_second) {
  const auto text = shown(80, 1.0 / 64);
  BOOST_TEST(std::ranges::count(text, '\r') >= 14);
  BOOST_TEST(std::ranges::count(text, '\r') <= 17);
  BOOST_TEST(std::ranges::count(text, '\n') == 1);
  BOOST_TEST(text.find("100%") != text.npos);
  BOOST_TEST(text.back() == '\n');
  BOOST_TEST(std::ranges::count(shown(80, 0.2), '\r') == 100);
}

BOOST_AUTO_TEST_CASE(an_epoch_cut_short_ends_its_line) {
  BOOST_TEST(shown(80, 1, 3).back() == '\n');
  BOOST_TEST(shown(80, 1, 0).empty());
}

BOOST_AUTO_TEST_CASE(numbers_have_points_in_any_locale) {
  const std::string before = progress_line(plan, 37, 0.56789, 0.1);
  const comma_locale commas;
  BOOST_TEST(progress_line(plan, 37, 0.56789, 0.1) == before);
  BOOST_TEST(before.find("0.5679") != before.npos, before);
}

BOOST_AUTO_TEST_CASE(a_plan_without_steps_is_refused) {
  for (const epoch_plan& wrong : {epoch_plan{.steps = 0}, epoch_plan{.steps = -1}, epoch_plan{.epochs = 0},
                                  epoch_plan{.batch = 0}, epoch_plan{.epoch = -1}})
    BOOST_CHECK_THROW((progress<fake_world>{wrong}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_mean_over_samples_weighs_each_batch_by_its_samples) {
  cairn::sample_mean mean;
  BOOST_TEST(std::isnan(mean.value()));
  mean.add(std::nan(""), 0);  // the mean of an empty batch
  BOOST_TEST(std::isnan(mean.value()));
  mean.add(0.5F, 100);
  mean.add(0.25F, 28);
  BOOST_TEST(mean.value() == (50.0 + 7.0) / 128);
  BOOST_TEST(mean.count() == 128);
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    BOOST_CHECK_THROW(mean.add(1, wrong), std::invalid_argument);
  BOOST_TEST(mean.count() == 128);
  mean = {};
  mean.add(3);
  BOOST_TEST(mean.value() == 3);
  mean.add(0, 1 << 24);
  BOOST_TEST(mean.count() == 16'777'217);  // which is no float
}

BOOST_AUTO_TEST_SUITE_END()
