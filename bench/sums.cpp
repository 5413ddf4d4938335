// Prints errors of sums of many terms. An error is relative to the sum of the absolute values of the terms, which is
// computed in double.
#include <array>
#include <cairn/cairn.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace cairn;

namespace {

enum class terms { constant, random, large_mean };

std::vector<float> numbers(std::int64_t n, terms sort) {
  std::mt19937 draw(1);
  std::uniform_real_distribution<float> some(-1, 1);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = sort == terms::constant ? 0.1F : sort == terms::random ? some(draw) : 1000 + some(draw);
  return x;
}
double error(double value, double exact, double size) { return std::abs(value - exact) / size; }
/// Returns the sum of every `step`th number from `first` on, and the sum of their absolute values.
std::pair<double, double> exact(const std::vector<float>& x, std::size_t first = 0, std::size_t step = 1) {
  double sum = 0, size = 0;
  for (std::size_t i = first; i < x.size(); i += step) sum += double{x[i]}, size += std::abs(double{x[i]});
  return {sum, size};
}

template <int N>
void of_terms(terms sort, auto row) {
  const auto x = numbers(2 * std::int64_t{N}, sort), one = numbers(N, sort);
  const auto [all, all_size] = exact(x);
  const auto [some, some_size] = exact(x, 0, 2);
  const auto [first, first_size] = exact(one);
  const auto value = [&](auto expression, const auto& numbers) {
    program<outputs(param<"d">, expression())> run;
    run.init(seed{1});
    const auto y = std::get<1>(run.value_and_grad(bind<"x">(numbers)));
    if constexpr (std::is_same_v<std::decay_t<decltype(y)>, float>) return y;
    else return y.data()[0];
  };
  row("sum<0>", error(value([] { return sum<0>(input<"x", N, 2>); }, x), some, some_size));
  row("sum<0> in a loop", error(value([] { return sum<0>(input<"x", N, 2> * 3_c); }, x), 3 * some, 3 * some_size));
  row("sum", error(value([] { return sum(input<"x", N, 2>); }, x), all, all_size));
  row("sum<0, 1>", error(value([] { return sum<0, 1>(input<"x", N / 5, 5, 2>); }, x), some, some_size));
  row("sum<-1>", error(value([] { return sum<-1>(input<"x", 1, N>); }, one), first, first_size));
  row("sum<0, 2>", error(
                       value([] { return sum<0, 2>(input<"x", N / 5, 2, 5>); }, x),
                       [&] {
                         double s = 0;
                         for (std::size_t i = 0; i < x.size(); ++i) s += i / 5 % 2 == 0 ? double{x[i]} : 0;
                         return s;
                       }(),
                       some_size));
  row("global_average",
      error(value([] { return global_average(input<"x", 1, N / 5, 5, 2>); }, x), some / N, some_size / N));
}

template <int N>
void of_gradients(terms sort, auto row) {
  const auto x = numbers(2 * std::int64_t{N}, sort);
  const auto [some, some_size] = exact(x, 0, 2);
  {
    constexpr auto y = (input<"one", N, 1> | nn::linear<"fc", 2>)*input<"x", N, 2>;
    program<sum(y)> step;
    step.init(seed{1});
    const std::vector<float> ones(N, 1.0F);
    step.value_and_grad(bind<"one">(ones), bind<"x">(x));
    row("linear bias", error(step.template grad<"fc.bias">().data()[0], some, some_size));
    row("linear weight", error(step.template grad<"fc.weight">().data()[0], some, some_size));
  }
  {
    constexpr auto y = (input<"one", 1, N / 5, 5, 1> | nn::conv2d<"conv", 2, 1>)*input<"x", 1, N / 5, 5, 2>;
    program<sum(y)> step;
    step.init(seed{1});
    const std::vector<float> ones(N, 1.0F);
    step.value_and_grad(bind<"one">(ones), bind<"x">(x));
    row("conv bias", error(step.template grad<"conv.bias">().data()[0], some, some_size));
    row("conv weight", error(step.template grad<"conv.weight">().data()[0], some, some_size));
  }
  {
    constexpr auto y = gather<0>(param<"table", 4, 2>, indices<"at", 4, N>) * input<"x", N, 2>;
    program<sum(y)> step;
    step.init(seed{1});
    const std::vector<std::int32_t> at(N, 1);
    step.value_and_grad(bind<"at">(at), bind<"x">(x));
    row("gather", error(step.template grad<"table">().data()[2], some, some_size));
  }
  if constexpr (N <= 1'000'000) {
    constexpr auto steps = scan<N, "step">([](auto h, auto v) { return std::tuple{h, v * param<"w", 2>}; },
                                           carried(zeros<1>), each(input<"x", N, 2>));
    program<sum(std::get<1>(steps))> step;
    step.init(seed{1});
    step.value_and_grad(bind<"x">(x));
    row("scan", error(step.template grad<"step.w">().data()[0], some, some_size));
  }
  {
    program<cross_entropy(param<"w", 2> * input<"x", N, 2>, labels<"at", 2, N>)> step;
    step.init(seed{1});
    const std::vector<std::int32_t> at(N, 1);
    const double loss = step.value_and_grad(bind<"x">(x), bind<"at">(at));
    double expected = 0;
    const auto w = step.template param<"w">();
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const double a = double{x[i] * w.data()[0]}, b = double{x[i + 1] * w.data()[1]};
      expected += std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))) - b;
    }
    row("cross_entropy", error(loss, expected / N, expected / N));
  }
}

template <int... N>
void table(terms sort, const char* name) {
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  const auto add = [&](const char* of, double error) {
    for (auto& [known, errors] : rows)
      if (known == of) return errors.push_back(error);
    rows.emplace_back(of, std::vector{error});
  };
  (of_terms<N>(sort, add), ...);
  (of_gradients<N>(sort, add), ...);
  std::printf("%s\n", name);
  for (const auto& [of, errors] : rows) {
    std::printf("  %-18s", of.c_str());
    for (const double e : errors) std::printf("  %8.1e", e);
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::printf("%-20s  %8d  %8d  %8d  %8d  %8d\n", "terms", 10, 1000, 100'000, 1'000'000, 10'000'000);
  table<10, 1000, 100'000, 1'000'000, 10'000'000>(terms::constant, "constant 0.1");
  table<10, 1000, 100'000, 1'000'000, 10'000'000>(terms::random, "random in [-1, 1)");
  table<10, 1000, 100'000, 1'000'000, 10'000'000>(terms::large_mean, "1000 and random");
}
