// The common part of the programs that train on Fashion-MNIST.
#pragma once

#include <cairn/data/ahead.hpp>
#include <cairn/data/idx.hpp>

#include "training.hpp"

namespace training {

/// Trains on a whole data set, which is shuffled again in each epoch. `go(step, rate, x, y)` runs a training step and
/// returns its loss.
template <int Batch, class Step>
void train_on(const data::dataset& set, Step& step, const arguments& given, bool higher_is_better, auto go, auto judge,
              const auto&... bound) {
  train(
      step, given, {set.size() / Batch, Batch, higher_is_better},
      [&](seed s, int epoch) { return data::ahead(data::batches<Batch>(set, s, epoch)); },
      [&](Step& one, double lr, const auto& b) { return go(one, lr, b.images, b.labels); }, judge, bound...);
}

/// Returns the accuracy over a whole test set, in percent. `Rate` is the accuracy of a batch.
template <auto Rate, int Batch>
double accuracy_of(auto& step, const data::dataset& set) {
  predictor<Rate> rate{step};
  sample_mean right;
  for (auto [x, y] : data::batches<Batch>(set)) right.add(rate(bind<"images">(x), bind<"classes">(y)), Batch);
  return 100 * right.value();
}

constexpr int batch = 128, test_batch = 100;  ///< 100 divides the size of the test set, so that every image is counted

/// The main function of a program that trains a classifier. It compares Step with Plain, trains, and prints the
/// accuracy. `Rate` is the accuracy of a test batch. The table of memory shows One and OnePlain.
template <auto Rate, class Step, class Plain, class One = Step, class OnePlain = Plain>
int classify(int argc, char** argv, const arguments& defaults) try {
  const arguments given = read(argc, argv, defaults);
  const auto set = data::fashion_mnist(given.data);
  const auto go = [](Step& step, double lr, const auto& x, const auto& y) {
    return step.train({.lr = lr}, bind<"images">(x), bind<"classes">(y));
  };
  const auto judge = [&](Step& step) {
    const double rate = accuracy_of<Rate, test_batch>(step, set.test);
    std::printf("test accuracy %.2f %%\n", rate);
    return rate;
  };
  const auto [x, y] = *data::batches<batch>(set.train).begin();
  compare<One, OnePlain, Step, Plain>(given, bind<"images">(x), bind<"classes">(y));
  Step step;
  train_on<batch>(set.train, step, given, true, go, judge, bind<"images">(x), bind<"classes">(y));
  return 0;
} catch (const std::exception& e) {
  std::cerr << defaults.name << ": " << e.what() << '\n';
  return 1;
}

}  // namespace training
