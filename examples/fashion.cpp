// Trains the README's network on Fashion-MNIST: its memory and time beside those without ckpt, then five epochs of
// AdamW, on all cores.
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>
#include <cairn/report/tables.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;

// The batch size is a parameter of the inputs alone: 128 to train, 100 to test, for all 10,000 are to be
// counted.
template <int B>
constexpr auto logits = input<"images", B, 784> | model;
template <int B>
constexpr auto classes = labels<"classes", 10, B>;
constexpr int batch = 128, test_batch = 100;

constexpr auto loss = cross_entropy(logits<batch>, classes<batch>);

// A program is compiled for the most threads that it may use, each of which has scratch in the arena; OpenMP says how
// many there are. The table of memory is that of one.
#ifdef _OPENMP
using most_threads = threads<64>;
int cores() { return std::min(64, omp_get_max_threads()); }
void use(int threads) { omp_set_num_threads(threads); }
#else
using most_threads = threads<1>;
int cores() { return 1; }
void use(int) {}
#endif
using train_step = program<loss, most_threads>;
using plain_step = program<loss, plain, most_threads>;

struct arguments {
  std::string data = "/usr/share/datasets/fashion-mnist";
  int epochs = 5;
  std::uint64_t seed = 1;
  double lr = 5e-4;
  int threads = cores();
};

/// Takes a number that is all of the text and that `good` accepts: CLI11 alone wraps a seed of -1 around.
template <class Number>
CLI::Validator number(const char* expected, bool (*good)(Number)) {
  return {[=](const std::string& text) {
            Number value{};
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, value);
            const bool ok = read.ec == std::errc{} && read.ptr == end && good(value);
            return ok ? "" : "expected " + std::string(expected) + ", got '" + text + "'";
          },
          ""};
}

/// Arguments that are not understood, or the wish for help, end the program here.
arguments read(int argc, char** argv) {
  arguments given;
  CLI::App app("Trains a network of 8 checkpointed residual blocks on Fashion-MNIST.", "fashion");
  app.add_option("--data", given.data, "the four gzipped IDX files")->type_name("FOLDER");
  app.add_option("--epochs", given.epochs, "times through the training set")
      ->check(number<int>("1 to 1000", [](int n) { return n >= 1 && n <= 1000; }))
      ->type_name("N");
  app.add_option("--seed", given.seed, "of the parameters and of the order of the images")
      ->check(number<std::uint64_t>("0 to 2^64 - 1", [](std::uint64_t) { return true; }))
      ->type_name("N");
  app.add_option("--lr", given.lr, "learning rate at the start; falls to 0 along a cosine")
      ->check(number<double>("a number above 0", [](double rate) { return rate > 0 && std::isfinite(rate); }))
      ->type_name("X");
  app.add_option("--threads", given.threads, "on which it trains; the results are the same for any number")
      ->check(number<int>("1 to the number of cores", [](int n) { return n >= 1 && n <= cores(); }))
      ->type_name("N");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help") option->capture_default_str();
  }
  app.failure_message(
      [](const CLI::App*, const CLI::Error& e) { return "fashion: " + std::string(e.what()) + '\n'; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& e) {
    std::exit(app.exit(e));
  }
  return given;
}

/// What one step touches of its arena, and the gradients that it leaves.
template <class Step>
auto measure(const data::dataset& set, seed s) {
  struct {
    std::int64_t touched;
    std::vector<float> gradients;
  } out;
  Step step;
  step.init(s);
  const auto [x, y] = *data::batches<batch>(set).begin();
  out.touched = report::touched_bytes(step, bind<"images">(x), bind<"classes">(y));
  out.gradients.assign(step.gradients().begin(), step.gradients().end());
  return out;
}

/// Milliseconds of a step with ckpt and without: medians of some, taken in turns.
report::timed measure_time(const data::dataset& set, seed s, int threads) {
  use(threads);
  const auto [x, y] = *data::batches<batch>(set).begin();
  const auto milliseconds = [x = x, y = y](auto& step) {
    const auto start = std::chrono::steady_clock::now();
    step.value_and_grad(bind<"images">(x), bind<"classes">(y));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  train_step ours;
  plain_step theirs;
  ours.init(s);
  theirs.init(s);
  std::array<double, 15> with{}, without{};
  for (std::size_t i = 0; i < with.size(); ++i) {
    with[i] = milliseconds(ours);
    without[i] = milliseconds(theirs);
  }
  std::ranges::sort(with);
  std::ranges::sort(without);
  return {threads, with[with.size() / 2], without[without.size() / 2]};
}

void compare(const data::dataset& set, seed s, int threads) {
  using one = program<loss>;
  using one_plain = program<loss, plain>;
  const auto ours = measure<one>(set, s);
  const auto theirs = measure<one_plain>(set, s);
  std::vector times{measure_time(set, s, 1)};
  if (threads > 1) times.push_back(measure_time(set, s, threads));
  report::segment_table<one>(std::cout);
  std::cout << '\n';
  report::step_table<one, one_plain>(std::cout, report::touched{ours.touched, theirs.touched}, times);
  std::cout << "gradients with and without ckpt: "
            << (ours.gradients == theirs.gradients ? "equal in every bit" : "different") << "\n\n"
            << std::flush;
}

/// In percent, over the whole test set.
double test_accuracy(train_step& step, const data::dataset& set) {
  predictor<accuracy(logits<test_batch>, classes<test_batch>)> rate{step};
  auto batches = data::batches<test_batch>(set);
  double sum = 0;
  for (auto [x, y] : batches) sum += static_cast<double>(rate(bind<"images">(x), bind<"classes">(y)));
  return 100 * sum / static_cast<double>(batches.size());
}

void train(const arguments& given, const data::train_and_test& set) {
  const seed s{given.seed};
  train_step step;
  step.init(s);
  adamw optimizer{step, {.lr = given.lr}};
  const auto steps = set.train.size() / batch;
  const cosine rate{.peak = given.lr, .steps = given.epochs * steps};
  std::int64_t done = 0;
  double accuracy = 0;
  for (int epoch = 0; epoch < given.epochs; ++epoch) {
    {
      progress bar({.epoch = epoch, .epochs = given.epochs, .steps = steps, .batch = batch});
      for (auto [x, y] : data::batches<batch>(set.train, s, epoch)) {
        optimizer.lr(rate(done++));
        bar.advance(static_cast<double>(step.value_and_grad(bind<"images">(x), bind<"classes">(y))));
        optimizer.update();
      }
    }
    accuracy = test_accuracy(step, set.test);
    std::printf("epoch %d/%d  test accuracy %.2f %%\n", epoch + 1, given.epochs, accuracy);
    std::fflush(stdout);
  }
  std::printf("test accuracy: %.2f %%\n", accuracy);
}

}  // namespace

int main(int argc, char** argv) try {
  const arguments given = read(argc, argv);
  const auto set = data::fashion_mnist(given.data);
  compare(set.train, seed{given.seed}, given.threads);
  use(given.threads);
  train(given, set);
} catch (const std::exception& e) {
  std::cerr << "fashion: " << e.what() << '\n';
  return 1;
}
