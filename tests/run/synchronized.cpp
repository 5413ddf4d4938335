// Synchronized batch norms take their statistics over the rows of all shards. The processes are threads here.
#include "divided.hpp"
#include "thread_processes.hpp"

namespace {

using namespace divided;
using namespace thread_processes;

constexpr int wide = 7, shards_of_batch = 4;
constexpr nn::batch_norm_options synchronized{.momentum = 0.3, .statistics = nn::batch_statistics::synchronized};
constexpr nn::batch_norm_options usual{.momentum = 0.3};

/// A net with three batch norms: one outside of segments, one in a segment, and one in a nested segment.
template <nn::batch_norm_options O>
constexpr auto net = nn::linear<"fc1", wide> | nn::batch_norm<"bn1", O> |
                     ckpt<"outer">(nn::linear<"fc2", wide> | nn::batch_norm<"bn2", O> | nn::gelu |
                                   ckpt<"inner">(nn::linear<"fc3", wide> | nn::batch_norm<"bn3", O> | nn::gelu)) |
                     nn::linear<"fc4", classes>;
template <nn::batch_norm_options O, int Rows>
constexpr auto loss = cross_entropy(input<"x", Rows, features> | net<O>, labels<"y", classes, Rows>);

/// The gradient of a sum over the rows is part of this loss, so its own gradient is a second one.
template <nn::batch_norm_options O, int Rows>
constexpr auto loss_of_gradient = [] {
  constexpr auto x = input<"x", Rows, features>;
  constexpr auto found = x | nn::linear<"fc1", wide> | nn::batch_norm<"bn", O> | nn::gelu | nn::linear<"fc2", 1>;
  return mean(square(grad(sum(found), x))) + mean(found);
}();

template <class... Options>
using divided_program = program<loss<synchronized, rows>, shards<shards_of_batch>, Options...>;
/// One process with the rows of all shards.
template <class... Options>
using whole_program = program<loss<usual, shards_of_batch * rows>, Options...>;

// Each of three batch norms exchanges a mean, a variance, and two means of gradients.
using by_adamw = update<adamw_options{.lr = 0.01}>;
using compiled = detail::compiled_of<loss<synchronized, rows>, true, shards<shards_of_batch>, by_adamw>;
constexpr auto averages = detail::block_of_sums<compiled>::averages;
static_assert(averages.count == 3 * 4);
static_assert([] {
  for (int i = 0; i < averages.count; ++i) {
    const int v = averages.of[i].value;
    if (compiled::schedule.recomputes[v] != graphs::none) return false;
    if (i > 0 && averages.of[i].step <= averages.of[i - 1].step) return false;
  }
  return true;
}());
// With recomputation of the segments, no mean is taken a second time. What is not synchronized stays as it is.
static_assert(divided_program<by_adamw>::flops().recomputed > 0);
static_assert(detail::block_of_sums<detail::compiled_of<loss<usual, rows>, true>>::averages.count == 0);
static_assert(detail::block_of_sums<detail::compiled_of<loss<synchronized, rows>, true>>::averages.count == 0);

// ---- Bytes. Each of the 12 means has a number for each feature.
using local_statistics = program<loss<{.momentum = 0.3, .statistics = nn::batch_statistics::local}, rows>,
                                 shards<shards_of_batch>, by_adamw>;
static_assert(divided_program<by_adamw>::traffic(4).messages == local_statistics::traffic(4).messages + 2 * 12);
static_assert(divided_program<by_adamw>::traffic(4).bytes == local_statistics::traffic(4).bytes + 2 * 12 * wide * 4);
static_assert(divided_program<by_adamw>::memory(4).division_bytes == local_statistics::memory(4).division_bytes + 64);
static_assert(divided_program<by_adamw>::memory(1).division_bytes == local_statistics::memory(1).division_bytes);

/// The results of a training run.
template <class Real>
struct run_results {
  std::vector<Real> losses, kept, gradients;
};
/// Trains three steps, and calls two functions before and after the last of them.
template <class Program>
auto trained(Program& step, auto before_last, auto after_last) {
  using real = typename Program::real_type;
  run_results<real> out;
  step.init(seed{3});
  for (int number = 0; number < 3; ++number) {
    const batch<real> b(shards_of_batch, number);
    if (number == 2) before_last();
    out.losses.push_back(step.train(bind<"x">(b.x), bind<"y">(b.y)));
  }
  after_last();
  out.kept = parameters_of(step);
  if constexpr (Program::keeps_gradients) out.gradients = gradients_of(step);
  return out;
}
constexpr auto none = [] {};
/// Trains in a process for each shard. All processes must have the same results, and send what was planned.
template <class Program>
auto trained_in_processes() {
  using results = run_results<typename Program::real_type>;
  std::vector<results> found{shards_of_batch};
  const std::string end = in_processes(shards_of_batch, [&](thread_process& group) {
    Program step{group};
    constexpr traffic_plan planned = Program::traffic(shards_of_batch);
    found[std::size_t(group.rank())] = trained(
        step, [&] { group.sent = {}; },
        [&] {
          if (group.sent.bytes != planned.bytes || group.sent.messages != planned.messages)
            throw std::logic_error("other messages than planned");
        });
  });
  BOOST_TEST(end == "");
  for (const results& one : found) {
    BOOST_TEST(same_bits(one.losses, found[0].losses));
    BOOST_TEST(same_bits(one.kept, found[0].kept));
    BOOST_TEST(same_bits(one.gradients, found[0].gradients));
  }
  return found[0];
}
void compare(const auto& found, const auto& expected, double tolerance) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    BOOST_TEST(std::abs(double(found[i] - expected[i])) <= tolerance * std::max(1.0, std::abs(double(expected[i]))));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(synchronized_batch_norms)

BOOST_AUTO_TEST_CASE(the_shards_train_as_one_program_of_the_whole_batch) {
  const auto check = [&]<class... Options>(double tolerance) {
    whole_program<Options...> alone;
    const auto expected = trained(alone, none, none), found = trained_in_processes<divided_program<Options...>>();
    compare(found.losses, expected.losses, tolerance);
    compare(found.kept, expected.kept, tolerance);
    // The gradients of a program without shards are zero if its updates use them up.
    if (!expected.gradients.empty()) compare(found.gradients, expected.gradients, tolerance);
  };
  check.operator()<update<sgd_options{.lr = 0.1}>, clip<10.0>, real<double>>(1e-12);
  check.operator()<update<sgd_options{.lr = 0.1}>, real<double>>(1e-12);
  check.operator()<update<sgd_options{.lr = 0.1}>>(1e-5);
}
BOOST_AUTO_TEST_CASE(second_gradients_are_those_of_the_whole_batch) {
  using sgd = update<sgd_options{.lr = 0.1}>;
  const auto losses_of = [](auto& step) {
    step.init(seed{3});
    std::vector<double> losses;
    for (int number = 0; number < 4; ++number)
      losses.push_back(step.train(bind<"x">(batch<double>(shards_of_batch, number).x)));
    return losses;
  };
  program<loss_of_gradient<usual, shards_of_batch * rows>, sgd, real<double>> alone;
  std::vector<double> found;
  const std::string end = in_processes(shards_of_batch, [&](process_group& group) {
    program<loss_of_gradient<synchronized, rows>, shards<shards_of_batch>, sgd, real<double>> step{group};
    const std::vector<double> losses = losses_of(step);
    if (group.rank() == 0) found = losses;
  });
  BOOST_TEST(end == "");
  compare(found, losses_of(alone), 1e-11);
}
BOOST_AUTO_TEST_CASE(segments_change_no_bit) {
  const auto with_segments = trained_in_processes<divided_program<by_adamw, clip<0.5>, check_finite>>(),
             without = trained_in_processes<divided_program<by_adamw, clip<0.5>, check_finite, plain>>();
  BOOST_TEST(same_bits(with_segments.losses, without.losses));
  BOOST_TEST(same_bits(with_segments.kept, without.kept));
}
BOOST_AUTO_TEST_CASE(moments_in_parts_change_no_bit) {
  const auto in_parts = trained_in_processes<divided_program<by_adamw, clip<0.5>, sharded_moments>>(),
             whole_moments = trained_in_processes<divided_program<by_adamw, clip<0.5>>>();
  BOOST_TEST(same_bits(in_parts.losses, whole_moments.losses));
  BOOST_TEST(same_bits(in_parts.kept, whole_moments.kept));
}
BOOST_AUTO_TEST_CASE(placed_segments_and_bf16_have_the_results_of_the_whole_batch) {
  using sgd = update<sgd_options{.lr = 0.1}>;
  const auto check = [&]<class Whole, class Shards>(double tolerance) {
    Whole alone;
    const auto expected = trained(alone, none, none), found = trained_in_processes<Shards>();
    compare(found.losses, expected.losses, tolerance);
    compare(found.kept, expected.kept, tolerance);
  };
  check.operator()<whole_program<sgd, mixed<bf16>>, divided_program<sgd, mixed<bf16>>>(1e-4);
  constexpr std::int64_t plain_bytes = divided_program<sgd, plain>::memory().peak_bytes;
  check.operator()<whole_program<sgd>, divided_program<sgd, plain, fit<plain_bytes - 64>>>(1e-5);
}
BOOST_AUTO_TEST_CASE(large_means_and_numbers_do_not_overflow) {
  // The mean of each shard is near the largest float, and the variance of the batch is finite.
  constexpr auto one = mean(input<"v", 2, 1> | nn::batch_norm<"bn", synchronized>);
  const std::vector<float> v{3e38F, 3e38F, 2.9999999e38F, 3e38F};
  std::vector<float> found(2);
  const std::string end = in_processes(2, [&](process_group& group) {
    program<one, shards<2>> step{group};
    step.init(seed{1});
    step.value_and_grad(bind<"v">(v));
    found[std::size_t(group.rank())] = step.param<"bn.running_mean">()(0);
  });
  BOOST_TEST(end == "");
  BOOST_TEST(found[0] == 0.3F * 3e38F, boost::test_tools::tolerance(1e-5F));
  BOOST_TEST(found[1] == found[0]);
}
BOOST_AUTO_TEST_CASE(a_program_without_shards_takes_the_rows_of_its_batch) {
  const batch<double> b(shards_of_batch, 1);
  program<loss<synchronized, shards_of_batch * rows>, update<sgd_options{}>, real<double>> one;
  whole_program<update<sgd_options{}>, real<double>> other;
  const auto found = trained(one, none, none), expected = trained(other, none, none);
  compare(found.losses, expected.losses, 1e-12);
  compare(found.kept, expected.kept, 1e-12);
}
BOOST_AUTO_TEST_CASE(fewer_processes_than_shards_are_refused) {
  const auto says = [](std::string_view text) {
    return [text](const std::exception& error) { return error.what() == text; };
  };
  BOOST_CHECK_EXCEPTION(divided_program<by_adamw>::memory(2), std::invalid_argument,
                        says("cairn: processes that share the shards of shards<4>, with synchronized batch norms: "
                             "expected 1 or 4, got 2"));
  const std::string end = in_processes(2, [&](process_group& group) { divided_program<by_adamw>{group}; });
  BOOST_TEST(end.ends_with("expected 1 or 4, got 2"));

  // One process does not train, but it has the parameters, for example for a predictor.
  divided_program<by_adamw> alone;
  alone.init(seed{1});
  const batch<float> b(shards_of_batch, 0);
  const auto before = parameters_of(alone);
  const auto train = [&] { alone.train(bind<"x">(b.x), bind<"y">(b.y)); };
  BOOST_CHECK_EXCEPTION(train(), program_error,
                        says("cairn: synchronized batch norms need the shards of shards<4> at once; train in 4 "
                             "processes"));
  BOOST_TEST(same_bits(parameters_of(alone), before));
  BOOST_TEST(alone.steps() == 0);
  BOOST_TEST(alone.random().step == 0U);
}
BOOST_AUTO_TEST_CASE(a_late_process_is_named_with_its_statistics) {
  const std::string end = in_processes(
      shards_of_batch,
      [&](process_group& group) {
        divided_program<by_adamw> step{group};
        step.init(seed{1});
        const batch<float> b(shards_of_batch, 0);
        step.train(bind<"x">(b.x), bind<"y">(b.y));
        if (group.rank() == 3) {
          while (true) group.now();
        }
        step.train(bind<"x">(b.x), bind<"y">(b.y));
      },
      0.2);
  BOOST_TEST(end.find("in step 2, ") != std::string::npos, end);
}

BOOST_AUTO_TEST_SUITE_END()
