// A training step allocates no memory.
#include <cstdlib>

#include "../models/arguments.hpp"
#include "../models/nesting.hpp"
#include "../models/random.hpp"
#include "../models/tensors.hpp"
#include "../run/thread_processes.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(allocations_are_counted) {
  void* volatile at = nullptr;  // volatile, because compilers would otherwise remove the allocations as unused
  BOOST_TEST(counted([&] { at = std::malloc(100); }) == 1);
  BOOST_TEST(counted([&] { at = std::realloc(at, 200); }) == 1);
  std::free(at);
  BOOST_TEST(counted([&] { at = std::calloc(10, 10); }) == 1);
  std::free(at);
  BOOST_TEST(counted([&] { at = std::aligned_alloc(64, 128); }) == 1);
  std::free(at);
  void* aligned = nullptr;
  BOOST_TEST(counted([&] { static_cast<void>(posix_memalign(&aligned, 64, 128)); }) == 1);
  std::free(aligned);
  BOOST_TEST(counted([&] { at = new std::vector<int>(100); }) > 2);
  delete static_cast<std::vector<int>*>(at);
}

BOOST_AUTO_TEST_CASE(a_step_and_a_prediction_allocate_nothing) {
  allocates_nothing<models::three_deep>();
  allocates_nothing<models::attention>();
  allocates_nothing<models::two_results>();
  allocates_nothing<models::with_outputs>();
  allocates_nothing<models::dropped_in_nested>();
}
BOOST_AUTO_TEST_CASE(a_loop_allocates_nothing) {
  using namespace cairn;
  constexpr auto body = [](auto h) { return tanh(h | nn::linear<"fc", 5>) | nn::dropout<"drop", 0.1>; };
  allocates_nothing<mean(square(scan<9, "step", revolve<3>>(body, carried(input<"h", 4, 5>))))>();
  allocates_nothing<mean(square(scan<9, "step">(body, carried(input<"h", 4, 5>))))>();
}
BOOST_AUTO_TEST_CASE(a_step_that_updates_allocates_nothing) {
  allocates_nothing<models::three_deep, update<adamw_options{}>>();
  allocates_nothing<models::dropped_in_nested, update<adamw_options{}>, clip<1>>();
}

BOOST_AUTO_TEST_CASE(steps_of_programs_that_share_memory_allocate_nothing) {
  using namespace cairn;
  constexpr auto judge = block<"d">(nn::linear<"fc1", 8> | nn::relu | nn::linear<"fc2", 1>);
  constexpr auto made = input<"noise", 8, 4> | block<"g">(nn::linear<"fc1", 8> | nn::relu | nn::linear<"fc2", 6>);
  constexpr auto judge_loss =
      mean(softplus(-(input<"x", 8, 6> | judge))) + mean(softplus(made | shared(judge) | nn::dropout<"drop", 0.1>));
  constexpr auto rule = averaged{adamw_options{}, 0.9};
  program<judge_loss, freeze<"g">, update<rule>> lender;
  program<mean(softplus(-(made | judge))), freeze<"d">, update<rule>> sharer{lender};
  program<mean(softplus(made | judge)), freeze<"g">, accumulate_gradients> summing{lender};
  predictor<made> predict{sharer};
  lender.init(seed{1});
  sharer.init(seed{1});
  const std::vector<float> x(8 * 6, 0.25F), noise(8 * 4, 0.5F);
  const auto once = [&] {
    static_cast<void>(lender.train(bind<"x">(x), bind<"noise">(noise)));
    static_cast<void>(sharer.train(bind<"noise">(noise)));
    static_cast<void>(summing.value_and_grad(bind<"noise">(noise)));
    static_cast<void>(predict(bind<"noise">(noise)));
  };
  once();
  BOOST_TEST(counted(once) == 0);
}

BOOST_AUTO_TEST_CASE(a_step_of_several_processes_allocates_nothing) {
  using namespace cairn;
  // The labels are counted, a state is joined, and there are gradients that are cut and others that are not.
  constexpr auto y = labels<"y", 5, 4>;
  constexpr auto loss = cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(
      input<"x", 4, 60> | nn::linear<"fc1", 300> |
          nn::batch_norm<"bn", nn::batch_norm_options{.statistics = nn::batch_statistics::local}> |
          nn::dropout<"drop", 0.1> | nn::linear<"fc2", 5>,
      y);
  const std::vector<float> x(4 * 4 * 60, 0.25F);
  const std::vector<std::int32_t> labels(4 * 4, 3);
  for (const int size : {2, 4}) {
    const std::string end = thread_processes::in_processes(size, [&](detail::process_group& group) {
      program<loss, shards<4>, update<adamw_options{}>, clip<1>> step{group};
      step.init(seed{1});
      const auto once = [&] {
        static_cast<void>(step.train(bind<"x">(x), bind<"y">(labels)));
        static_cast<void>(step.train([&](int part) {
          const auto at = static_cast<std::size_t>(part * 4);
          return inputs(bind<"x">(std::span(x).subspan(at * 60, 4 * 60)), bind<"y">(std::span(labels).subspan(at, 4)));
        }));
      };
      once();
      if (const long count = counted(once); count != 0) throw std::logic_error(std::to_string(count) + " allocations");
    });
    BOOST_TEST(end == "");
  }
}

BOOST_AUTO_TEST_CASE(an_epoch_of_shuffled_batches_allocates_nothing) {
  using namespace cairn;
  data::dataset set{.images = std::vector<float>(100 * 12, 0.25F),
                    .labels = std::vector<std::int32_t>(100, 3),
                    .features = 12,
                    .classes = 5};
  program<models::one> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 1e-3}};
  auto batches = data::batches<8>(set, seed{1}, 0);
  BOOST_TEST(counted([&] {
               for (auto [x, y] : batches) {
                 static_cast<void>(step.value_and_grad(bind<"x">(x), bind<"y">(y)));
                 optimizer.update();
               }
             }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
