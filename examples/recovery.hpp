// The common part of the programs that recover an initial state and a diffusivity. It contains the arguments, a check
// of the gradient against a difference quotient, the memory of the adjoint, the descent, and the start of a picture.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cairn/cairn.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace recovery {

using namespace cairn;

struct arguments {
  std::string name, about;
  int iterations;
  std::string picture = {};  ///< file for the picture; empty for no picture
};

/// Reads the arguments. If arguments are wrong or ask for help, the function ends the program.
inline arguments read(int argc, char** argv, arguments given) {
  CLI::App app(given.about, given.name);
  app.add_option("--iterations", given.iterations, "number of steps of the descent")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--picture", given.picture, "SVG image of the recovered state")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& e) {
    std::exit(app.exit(e));
  }
  return given;
}

/// Returns the numbers with normal noise of the given deviation. The noise is the same in each call and each program.
inline std::vector<double> with_noise(std::span<const double> exact, double deviation) {
  std::mt19937_64 bits(1);
  std::normal_distribution<double> noise(0, deviation);
  std::vector<double> out(exact.begin(), exact.end());
  for (double& x : out) x += noise(bits);
  return out;
}

/// Returns the root of the mean squared difference between two fields.
inline double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

/// Compares the slope of the loss along a random direction of all parameters with its central difference. Returns the
/// absolute difference of both, divided by the larger of their absolute values.
inline double slope_deviation(auto& step, const auto&... bound) {
  const auto numbers = step.parameters();
  const std::vector<double> start(numbers.begin(), numbers.end());
  std::mt19937_64 bits(2);
  std::normal_distribution<double> normal;
  std::vector<double> direction(start.size());
  for (double& d : direction) d = normal(bits);
  const auto value_at = [&](double offset) {
    for (std::size_t i = 0; i < start.size(); ++i) numbers[i] = start[i] + offset * direction[i];
    return std::get<0>(step.value_and_grad(bound...));
  };
  constexpr double h = 1e-4;
  const double quotient = (8 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12 * h);
  value_at(0);
  double slope = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) slope += step.gradients()[i] * direction[i];
  std::printf("slope of the loss along a random direction: %.12g, by differences %.12g\n", slope, quotient);
  return std::abs(slope - quotient) / std::max(std::abs(slope), std::abs(quotient));
}

/// Prints the memory and the work of the adjoint. Next to them it prints the numbers of the same model with all steps
/// stored. The compiler knows all of these numbers.
template <class Step, class Stored>
void print_memory() {
  constexpr auto ours = Step::loops(), theirs = Stored::loops();
  std::printf("%-30s%14s%14s\n", "of one gradient", "snapshots", "all stored");
  const auto row = [](const char* what, long long a, long long b) { std::printf("%-30s%14lld%14lld\n", what, a, b); };
  row("evaluations of bodies", ours.evaluations, theirs.evaluations);
  row("states saved", ours.saves, theirs.saves);
  row("states gone on from", ours.loads, theirs.loads);
  row("bytes of the arena", Step::memory().peak_bytes, Stored::memory().peak_bytes);
}

struct recovered {
  std::vector<double> observed, u0;
  bool good;  ///< true if the gradient agrees with differences, and u0 and nu were recovered within 5 %
};

/// Recovers u0 and nu from observations. The observations are `Seen` of the true u0 and nu, with noise. AdamW begins
/// with the first observation as u0 and with twice the true nu. The learning rate falls along a cosine. Prints the
/// progress.
template <class Step, class Stored, auto Seen>
recovered recover(const arguments& given, const std::vector<double>& truth, double true_nu) {
  Step step;
  step.init(seed{1});
  step.set(bind<"u0">(truth));
  const auto log_nu = step.template param<"log_nu">();
  log_nu() = std::log(true_nu);
  predictor<Seen, real<double>> ahead{step};
  const auto exact = ahead();
  const auto observed = with_noise({exact.data(), exact.size()}, 0.01);

  step.set(bind<"u0">(std::span(observed).first(truth.size())));
  log_nu() = std::log(2 * true_nu);
  print_memory<Step, Stored>();
  const double slope = slope_deviation(step, bind<"observed">(observed));

  constexpr double lr = 0.1;
  adamw optimizer{step, {.lr = lr, .weight_decay = 0}};
  const cosine rate{.peak = lr, .steps = given.iterations};
  std::printf("%10s%14s%14s%14s%14s\n", "iteration", "loss", "misfit", "error of u0", "nu");
  const auto u0 = step.template param<"u0">();
  for (int i = 0; i <= given.iterations; ++i) {
    const auto [loss, misfit] = step.value_and_grad(bind<"observed">(observed));
    if (i == given.iterations || i % std::max(given.iterations / 10, 1) == 0)
      std::printf("%10d%14.4e%14.4e%14.4f%14.5f\n", i, loss, misfit, distance(u0, truth), std::exp(log_nu()));
    optimizer.lr(rate(i));
    if (i < given.iterations) optimizer.update();
  }
  const double off = distance(u0, truth), nu_off = std::abs(std::exp(log_nu()) / true_nu - 1);
  std::printf("u0 is off by %.3f, nu by %.1f %%\n", off, 100 * nu_off);
  return {observed, {u0.begin(), u0.end()}, slope < 1e-7 && off < 0.05 && nu_off < 0.05};
}

/// Writes a file with an SVG image of the given extents. `draw(file)` draws the contents.
inline void write_picture(const std::string& name, int width, int height, auto draw) {
  std::ofstream file(name);
  file << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
       << "' font-family='sans-serif' font-size='13' fill='#24292f'>\n<rect width='" << width << "' height='" << height
       << "' fill='#ffffff'/>\n";
  draw(file);
  file << "</svg>\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + name);
}

}  // namespace recovery
