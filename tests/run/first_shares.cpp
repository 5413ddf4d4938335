// The first shares in memory of the caller, which are made by several threads at once. This file is compiled with
// ThreadSanitizer.
#include "cairn/embedded.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace cairn;

namespace {
constexpr auto logits = input<"x", 4, 3> | nn::linear<"fc", 2>;
using train_step = program<mean(square(logits))>;
}  // namespace

BOOST_AUTO_TEST_CASE(threads_may_make_the_first_predictors_of_a_program) {
  alignas(memory_alignment) static std::byte memory[train_step::memory().total_bytes()];
  train_step step{std::span(memory)};
  step.init(seed{1});
  const float numbers[4][3] = {{1, 2, 3}};
  float results[3] = {};
  {
    std::vector<std::jthread> threads;
    for (float& result : results) {
      threads.emplace_back([&] {
        predictor<logits> predict{step};
        result = predict(bind<"x">(numbers))(0, 1) + std::as_const(step).param<"fc.bias">()(0);
      });
    }
  }
  BOOST_TEST(results[0] != 0);
  BOOST_TEST(results[1] == results[0]);
  BOOST_TEST(results[2] == results[0]);
}
