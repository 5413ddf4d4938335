// Training loops that are resumed in another way than they were left, or called again after a fault: they give the same
// numbers as one run without a break, or they refuse.
#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/examples.hpp"
#include "run/folder.hpp"

using namespace cairn;

namespace {

constexpr auto loss =
    cross_entropy(input<"x", 4, 6> | nn::linear<"fc1", 5> | nn::tanh | nn::linear<"fc2", 3>, labels<"y", 3, 4>);
constexpr auto rule = update<averaged{adamw_options{}, 0.9}>{};
using program_of = program<loss, std::remove_const_t<decltype(rule)>>;
using of_descent = program<loss, update<sgd_options{}>>;

const auto in_order = [](int) {
  static const data::dataset set = test::examples_of(16);
  return data::batches<4>(set);
};
auto going(auto& step) {
  return [&step](double rate, const auto& batch) {
    return static_cast<double>(step.train({.lr = rate}, bind<"x">(batch.images), bind<"y">(batch.labels)));
  };
}
auto says(std::string text) {
  return [text](const std::exception& e) {
    BOOST_TEST_INFO(e.what());
    return std::string_view(e.what()).find(text) != std::string_view::npos;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loop_resumed_suite)

// The function of the epoch fills one data set anew, which the batches of an earlier epoch then read.
BOOST_AUTO_TEST_CASE(the_data_of_an_earlier_epoch_does_not_replace_that_of_the_next) {
  data::dataset set;
  const auto made_anew = [&](int epoch) {
    set = test::examples_of(8 + 4 * epoch);
    for (float& x : set.images) x += static_cast<float>(epoch);
    return data::batches<4>(set, seed{1}, epoch);
  };
  const auto weight_after = [&](int epochs, const std::filesystem::path& run, bool resumes) {
    program_of step;
    step.init(seed{1});
    train::loop(step, {.epochs = epochs,
                       .rate = 0.05,
                       .folder = run,
                       .resume = resumes,
                       .accepts_changes = resumes,
                       .shows_progress = false})(made_anew, going(step));
    return step.param<"fc1.weight">()(2, 3);
  };
  const folder here;
  const float whole = weight_after(3, here.path / "whole", false);
  for (const int epochs : {1, 2, 3})
    BOOST_TEST((weight_after(epochs, here.path / "run", true) == whole) == (epochs == 3));
}

BOOST_AUTO_TEST_CASE(a_program_that_was_changed_after_its_run_was_resumed_is_refused) {
  const folder here;
  const train::loop_options options{
      .epochs = 2, .folder = here.path / "run", .resume = true, .accepts_changes = true, .shows_progress = false};
  program_of step;
  {
    train::loop begun{step, options};
    step.init(seed{1});  // a new run takes the program as it is when the loop is called
    begun(in_order, going(step));
  }
  train::loop_options longer = options;
  longer.epochs = 3;
  {
    train::loop resumed{step, longer};
    step.init(seed{1});
    BOOST_CHECK_EXCEPTION(resumed(in_order, going(step)), program_error,
                          says("the program was initialized, loaded or"));
  }
  train::loop resumed{step, longer};
  BOOST_TEST(step.steps() == 8);
  resumed(in_order, going(step));
  step.init(seed{1});  // after the first call, the program is the user's again
  BOOST_CHECK_NO_THROW(resumed(in_order, going(step)));
}

template <class Other>
void refuses(const train::loop_options& options, const std::string& text) {
  Other step;
  step.init(seed{1});
  BOOST_CHECK_EXCEPTION((train::loop{step, options}), file::file_error, says(text));
}
BOOST_AUTO_TEST_CASE(other_types_of_numbers_and_other_trained_parameters_are_another_run) {
  const folder here;
  train::loop_options options{.folder = here.path / "run", .shows_progress = false};
  of_descent step;
  step.init(seed{1});
  train::loop(step, options)(in_order, going(step));
  options.resume = true;
  constexpr update<sgd_options{}> descent;
  using same = std::remove_const_t<decltype(descent)>;
  refuses<program<loss, same, real<double>>>(options, "\n  run.numbers: expected 'float', got 'double'");
  refuses<program<loss, same, mixed<bf16>>>(options, "\n  run.numbers: expected 'float', got 'mixed<bf16>'");
  refuses<program<loss, same, mixed<bf16, stochastic_rounding>>>(
      options, "\n  run.numbers: expected 'float', got 'mixed<bf16, stochastic_rounding>'");
  refuses<program<loss, same, freeze<"fc1">>>(options, "; trains 2 of 4 parameters with the hash ");
  BOOST_CHECK_NO_THROW((train::loop{step, options}));
  const auto optimizer_of = [](auto&& program) { return train::detail::facts_of(program).at("run.optimizer"); };
  BOOST_TEST(optimizer_of(program<loss, same, freeze<"fc1">>{}) != optimizer_of(program<loss, same, freeze<"fc2">>{}));
  BOOST_TEST(optimizer_of(of_descent{}).find("trains") == std::string::npos);
}

// The last digits of the numbers depend on the optimization level.
BOOST_AUTO_TEST_CASE(the_text_of_a_rule_has_nine_digits) {
  const std::string text = train::detail::text_of_rule(adamw_options{});
  const std::string expected = " exp_avg exp_avg_sq with 0.001, 0.235316725, 0.99, 0.1, 0.001, 4.47101778e-10";
  BOOST_TEST(text.ends_with(expected), text);
}

BOOST_AUTO_TEST_CASE(a_loop_is_not_called_by_its_own_functions) {
  of_descent step;
  step.init(seed{1});
  train::loop run{step, {.epochs = 2, .shows_progress = false}};
  const auto calls_itself = [&](double, const auto&) {
    run(in_order, going(step));
    return 0.0;
  };
  BOOST_CHECK_EXCEPTION(run(in_order, calls_itself), program_error, says("by a function that the same loop calls"));
  BOOST_TEST((run(in_order, going(step)) == train::ending::done));
  BOOST_TEST(step.steps() == 8);
}

BOOST_AUTO_TEST_CASE(a_validation_may_spoil_the_averages_and_throws) {
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.average = "average", .shows_progress = false}};
  std::optional<program_of> taken;
  const auto moves_away = [&] {
    taken.emplace(std::move(step));
    return 1.0;
  };
  BOOST_CHECK_THROW(run(in_order, going(step), moves_away), program_error);
  program_of elsewhere;
  elsewhere.init(seed{1});
  train::loop third{elsewhere, {.average = "average", .shows_progress = false}};
  const auto moves_and_throws = [&]() -> double {
    taken.emplace(std::move(elsewhere));
    throw std::runtime_error("of the user");
  };
  BOOST_CHECK_EXCEPTION(third(in_order, going(elsewhere), moves_and_throws), std::runtime_error, says("of the user"));
  program_of other;
  other.init(seed{1});
  train::loop second{other, {.average = "average", .shows_progress = false}};
  const auto throws = [&]() -> double { throw std::runtime_error("of the user"); };
  BOOST_CHECK_EXCEPTION(second(in_order, going(other), throws), std::runtime_error, says("of the user"));
  BOOST_CHECK_NO_THROW(other.exchange("average"));  // the parameters are back, and can be exchanged
}

/// Makes a folder in the place of the file, so that the file cannot be written while this object lives.
struct in_the_way {
  std::filesystem::path path;
  explicit in_the_way(std::filesystem::path of) : path(std::move(of)) {
    std::filesystem::remove(path);
    std::filesystem::create_directories(path / "full");
  }
  ~in_the_way() { std::filesystem::remove_all(path); }
};
BOOST_AUTO_TEST_CASE(a_best_file_that_could_not_be_written_is_written_by_the_next_call) {
  const folder here;
  of_descent step;
  step.init(seed{1});
  train::loop run{step, {.epochs = 3, .folder = here.path / "run", .higher_is_better = true, .shows_progress = false}};
  const std::vector<double> results{1, 3, 2};
  std::size_t validations = 0;
  std::optional<in_the_way> folder_of_best;
  const auto validate = [&] {
    if (validations == 1) folder_of_best.emplace(here.path / "run" / "best.safetensors");
    return results[validations++];
  };
  BOOST_CHECK_THROW(run(in_order, going(step), validate), file::write_error);
  folder_of_best.reset();
  run(in_order, going(step), validate);
  BOOST_TEST(run.state().best == 3);
  of_descent best;
  BOOST_TEST(best.load(here.path / "run" / "best.safetensors").at("loop.best") == "3");
}

BOOST_AUTO_TEST_CASE(a_result_whose_row_could_not_be_written_counts_once) {
  const folder here;
  of_descent step;
  step.init(seed{1});
  on_plateau rate{.peak = 0.1, .factor = 0.5, .patience = 0};
  train::loop run{step, {.epochs = 3, .rate = std::ref(rate), .folder = here.path / "run", .shows_progress = false}};
  int validations = 0;
  const std::filesystem::path log = here.path / "run" / "log.csv";
  std::string rows;
  std::optional<in_the_way> folder_of_log;
  const auto validate = [&] {
    if (++validations == 2) {
      rows = read_bytes(log);
      folder_of_log.emplace(log);
    }
    return 1.0;
  };
  BOOST_CHECK_THROW(run(in_order, going(step), validate), file::file_error);
  BOOST_TEST(validations == 2);
  folder_of_log.reset();
  here.plain("run/log.csv", rows);
  run(in_order, going(step), validate);
  BOOST_TEST(validations == 4);
  BOOST_TEST(rate.state.reductions == 2);
}

BOOST_AUTO_TEST_CASE(results_of_another_measure_are_forgotten) {
  const folder here;
  of_descent step;
  step.init(seed{1});
  on_plateau rate{.peak = 0.1, .factor = 0.5, .patience = 0};
  train::loop_options options{
      .epochs = 2, .rate = std::ref(rate), .folder = here.path / "run", .patience = 2, .shows_progress = false};
  train::loop(step, options)(in_order, going(step), [] { return 1.7; });
  BOOST_TEST(rate(0) == 0.05);
  options.epochs = 5, options.patience = 1;
  options.resume = options.accepts_changes = options.higher_is_better = true;
  on_plateau rising{.peak = 0.1, .factor = 0.5, .patience = 0, .higher_is_better = true};
  options.rate = std::ref(rising);
  double accuracy = 0.4;
  const auto rises = [&] { return accuracy += 0.1; };
  {
    train::loop run{step, options};
    BOOST_TEST(std::isnan(run.state().best));
    BOOST_TEST(rising(0) == 0.05);  // the rate stays reduced
    const auto stops = [&](double, const auto&) {
      std::raise(SIGTERM);
      return 0.0;
    };
    BOOST_TEST((run(in_order, stops, rises) == train::ending::asked));
  }
  train::loop run{step, options};  // now with the saved facts of the other measure
  BOOST_TEST((run(in_order, going(step), rises) == train::ending::done));
  BOOST_TEST(run.state().best == accuracy);
  BOOST_TEST(run.state().best_epoch == 4);
  BOOST_TEST(rising(0) == 0.05);
}

BOOST_AUTO_TEST_CASE(an_epoch_that_could_not_be_saved_is_saved_by_the_next_call) {
  const folder here;
  of_descent step;
  step.init(seed{1});
  const train::loop_options options{.folder = here.path / "run", .shows_progress = false};
  const auto last = here.path / "run" / "step-0000000004.safetensors";
  train::loop run{step, options};
  std::optional<in_the_way> obstacle;
  const auto validate = [&] {
    obstacle.emplace(last);
    return 1.0;
  };
  BOOST_CHECK_THROW(run(in_order, going(step), validate), file::write_error);
  obstacle.reset();
  const float trained = step.param<"fc1.weight">()(0, 0);
  step.init(seed{2});
  BOOST_CHECK_EXCEPTION(run(in_order, going(step), validate), program_error, says("or could not save it"));
  step.init(seed{1});
  for (const auto& batch : in_order(0)) going(step)(1e-3, batch);
  BOOST_TEST((run(in_order, going(step), validate) == train::ending::done));
  of_descent saved;
  saved.load(last);
  BOOST_TEST(saved.param<"fc1.weight">()(0, 0) == trained);
}

BOOST_AUTO_TEST_CASE(a_rate_is_a_number_or_a_function) {
  const train::loop_options constant{.rate = 0.25}, falling{.rate = cosine{.peak = 0.5, .steps = 4}};
  BOOST_TEST(constant.rate(7) == 0.25);
  BOOST_TEST(train::loop_options{.rate = 0}.rate(7) == 0);
  BOOST_TEST(falling.rate(0) == 0.5);
  BOOST_TEST(train::loop_options{}.rate(0) == 1e-3);
  of_descent step;
  step.init(seed{1});
  const on_plateau fixed{.peak = 0.1};
  BOOST_CHECK_EXCEPTION((train::loop{step, {.rate = std::cref(fixed)}}), std::invalid_argument,
                        says("loop_options.rate: expected no on_plateau that is const"));
  BOOST_CHECK_EXCEPTION((train::loop{step, {.rate = -1}}(in_order, going(step))), std::invalid_argument, says("-1"));
}

BOOST_AUTO_TEST_CASE(a_description_may_be_a_view) {
  struct described {
    std::string_view description() const { return "mine"; }
  };
  BOOST_TEST(train::detail::description_of(described{}) == "mine");
}

BOOST_AUTO_TEST_SUITE_END()
