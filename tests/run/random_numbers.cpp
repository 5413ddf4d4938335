// Arrays of random numbers in programs: their distributions, what they depend on, and where they may stand. The seeds
// are fixed, so each test has the same result in each run.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gradients.hpp"
#include "tiled.hpp"

namespace {

constexpr int rows = 1000, columns = 1000, count = rows * columns;

/// Returns the numbers that a program draws in one of its first training steps.
template <auto Numbers, class Real = float>
std::vector<double> drawn(seed s = seed{1}, int step_number = 0) {
  program<outputs(param<"w"> * mean(Numbers), Numbers), real<Real>> step;
  step.init(s);
  step.random().step = static_cast<std::uint32_t>(step_number);
  const auto [loss, y] = step.value_and_grad();
  return {y.begin(), y.end()};
}
/// Returns the largest distance between the distribution of numbers and a distribution function, times the root of the
/// number of numbers (Kolmogorov). For a million numbers of the distribution, the result exceeds 1.63 in one of a
/// hundred cases.
double kolmogorov(std::vector<double> numbers, auto distribution) {
  std::ranges::sort(numbers);
  const auto n = static_cast<double>(numbers.size());
  double most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double exact = distribution(numbers[i]), k = static_cast<double>(i);
    most = std::max({most, exact - k / n, (k + 1) / n - exact});
  }
  return most * std::sqrt(n);
}
/// Returns the mean of a function of the numbers.
double mean_of(const std::vector<double>& numbers, auto f) {
  double total = 0;
  for (const double x : numbers) total += f(x);
  return total / static_cast<double>(numbers.size());
}
/// Returns the correlation of two arrays of which each number has this mean and variance, times the root of the number
/// of pairs. The numbers of `b` are taken from number `shift` on. The result is nearly normal if the arrays are
/// independent.
double correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t shift, double center,
                   double variance) {
  double total = 0;
  const std::size_t n = a.size() - shift;
  for (std::size_t i = 0; i < n; ++i) total += (a[i] - center) * (b[i + shift] - center);
  return total / variance / std::sqrt(static_cast<double>(n));
}
constexpr double root_of_count = 1000;
/// No statistic of a test is further from its mean than this many standard deviations.
constexpr double likely = 3.5;

constexpr auto normals = random_normal<"eps", rows, columns>;
constexpr auto uniforms = random_uniform<"u", rows, columns>;

/// Layers that draw a number for each element, and for each row.
constexpr auto noisy = [](auto h) {
  constexpr int n = decltype(h)::shape[0], features = decltype(h)::shape[1];
  return (h * random_normal<"eps", n, features> + random_uniform<"u", n, 1>)*random_bernoulli<"m", 0.5, n, features>;
};
constexpr auto body = layer(noisy) | nn::linear<"fc", 5> | nn::tanh;
constexpr auto noisy_step = [](auto h) { return tanh(h + random_normal<"eps", 4, 5> * random_uniform<"u", 4, 1>); };

/// Neighbours, other names, other training steps and other seeds are independent.
template <auto Numbers, auto Others>
void check_independence(double center, double variance) {
  const auto all = drawn<Numbers>();
  for (const std::size_t shift : {1U, 2U, 4U, 8U, 32U, 1000U})
    BOOST_TEST(std::abs(correlation(all, all, shift, center, variance)) < likely, "shift " << shift);
  BOOST_TEST(std::abs(correlation(all, drawn<Others>(), 0, center, variance)) < likely);
  BOOST_TEST(std::abs(correlation(all, drawn<Numbers>(seed{1}, 1), 0, center, variance)) < likely);
  BOOST_TEST(std::abs(correlation(all, drawn<Numbers>(seed{2}), 0, center, variance)) < likely);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_numbers)

BOOST_AUTO_TEST_CASE(normal_numbers_have_the_normal_distribution) {
  const auto all = drawn<normals>();
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  BOOST_TEST(kolmogorov(all, below) < 1.63);
  BOOST_TEST(kolmogorov(all, [&](double x) { return below(x + 0.005); }) > 1.63);  // a shift as small as this is found
  // The first four moments are 0, 1, 0 and 3. The variances of their estimates are 1, 2, 15 and 96, divided by `count`.
  BOOST_TEST(std::abs(mean_of(all, [](double x) { return x; })) < likely / root_of_count);
  BOOST_TEST(std::abs(mean_of(all, [](double x) { return x * x; }) - 1) < likely * std::sqrt(2.0) / root_of_count);
  BOOST_TEST(std::abs(mean_of(all, [](double x) { return x * x * x; })) < likely * std::sqrt(15.0) / root_of_count);
  BOOST_TEST(std::abs(mean_of(all, [](double x) { return x * x * x * x; }) - 3) <
             likely * std::sqrt(96.0) / root_of_count);
  // The tails have as many numbers as they should have, and no number is infinite.
  for (const double least : {2.0, 3.0, 4.0, 4.5}) {
    const double expected = count * below(-least);
    const auto above = static_cast<double>(std::ranges::count_if(all, [=](double x) { return x > least; }));
    const auto under = static_cast<double>(std::ranges::count_if(all, [=](double x) { return x < -least; }));
    BOOST_TEST(std::abs(above - expected) < likely * std::sqrt(expected), least);
    BOOST_TEST(std::abs(under - expected) < likely * std::sqrt(expected), least);
  }
  BOOST_TEST(std::ranges::all_of(all, [](double x) { return std::abs(x) < 6.34; }));
}
BOOST_AUTO_TEST_CASE(uniform_numbers_are_uniform) {
  const auto all = drawn<uniforms>();
  BOOST_TEST(kolmogorov(all, [](double x) { return x; }) < 1.63);
  BOOST_TEST(kolmogorov(all, [](double x) { return x * x; }) > 1.63);
  BOOST_TEST(std::ranges::all_of(all, [](double x) { return 0 <= x && x < 1; }));
}
BOOST_AUTO_TEST_CASE(bernoulli_numbers_are_1_with_the_given_probability) {
  const auto all = drawn<random_bernoulli<"m", 0.1, rows, columns>>();
  BOOST_TEST(std::ranges::all_of(all, [](double x) { return x == 0 || x == 1; }));
  BOOST_TEST(std::abs(mean_of(all, [](double x) { return x; }) - 0.1) < likely * 0.3 / root_of_count);
  BOOST_TEST(std::ranges::count(drawn<random_bernoulli<"m", 0, 100>>(), 0.0) == 100);
}
BOOST_AUTO_TEST_CASE(numbers_are_independent) {
  check_independence<normals, random_normal<"eps2", rows, columns>>(0, 1);
  check_independence<uniforms, random_uniform<"v", rows, columns>>(0.5, 1 / 12.0);
  check_independence<random_bernoulli<"m", 0.3, rows, columns>, random_bernoulli<"n", 0.3, rows, columns>>(0.3, 0.21);
}

BOOST_AUTO_TEST_CASE(equal_seeds_and_names_draw_equal_numbers_of_any_shape_and_type) {
  const auto all = drawn<normals>();
  BOOST_TEST((drawn<normals>() == all));
  BOOST_TEST((drawn<random_normal<"eps", count>>() == all));
  BOOST_TEST((drawn<normals>(seed{1}, 1) != all));
  const auto doubles = drawn<normals, double>();
  double largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) largest = std::max(largest, std::abs(all[i] / doubles[i] - 1));
  BOOST_TEST(largest < 4e-7);
  BOOST_TEST((drawn<uniforms, double>() == drawn<uniforms>()));
  constexpr auto in_block = block<"b">([] { return random_normal<"eps", 100>; });
  BOOST_TEST((drawn<in_block>() == drawn<random_normal<"b.eps", 100>>()));
  BOOST_TEST((drawn<random_uniform<"u", 1>>().front() == drawn<random_uniform<"u", 5>>().front()));
}

// The words of a stream, in their order, make the numbers.
BOOST_AUTO_TEST_CASE(numbers_are_made_of_the_words_of_the_name) {
  const auto numbers = drawn<random_uniform<"u", 10>>(seed{3}, 2);
  const auto ones = drawn<random_bernoulli<"u", 0.5, 10>>(seed{3}, 2);
  const auto normal = drawn<random_normal<"u", 10>>(seed{3}, 2);
  const random_stream stream{seed{3}, cairn::detail::hash64_of("u"), 2};
  for (std::size_t i = 0; i < 10; ++i) {
    const std::uint32_t word = stream(static_cast<std::uint32_t>(i / 4))[i % 4];
    BOOST_TEST(numbers[i] == static_cast<double>(uniform(word)));
    BOOST_TEST((ones[i] == 1) == (word < 0x80000000U));
    BOOST_TEST((normal[i] < 0) == (word < 0x80000000U));
  }
}

// The numbers are constants of a training step. Recomputation draws the same numbers, so gradients follow differences.
BOOST_AUTO_TEST_CASE(gradients_follow_differences_within_one_step) {
  constexpr auto blocks = param<"p", 4, 5> | repeat<2, "b">([](auto) { return ckpt<"s">(body); });
  check<weighted(blocks)>();
  check<weighted(blocks), plain>();
  check<sum(square(grad(sum(square(param<"p", 4, 5> | body)), param<"p", 4, 5>)))>();
}

// A layer keeps or drops all elements of an example, or of a channel of an example, together. What is kept has the bits
// of dropout.
template <auto Layer, auto Draws>
void drops_parts() {
  constexpr auto x = param_from<"x", initial::constant(3), 40, 3, 2, 50>;
  program<outputs(sum(x | Layer), x | Layer, Draws)> step;
  step.init(seed{4});
  const auto [total, y, dropped] = step.value_and_grad();
  const auto gradient = step.template grad<"x">();
  constexpr shape drawn = decltype(Draws)::shape;
  int zeros = 0;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 50; ++k) {
        const float scale = dropped(i, 0, 0, drawn[3] == 1 ? 0 : k) == 1 ? 0 : static_cast<float>(1 / (1 - 0.25));
        BOOST_TEST_REQUIRE((y(i, j / 2, j % 2, k) == 3 * scale && gradient(i, j / 2, j % 2, k) == scale));
        zeros += scale == 0 ? 1 : 0;
      }
  BOOST_TEST((zeros > 12000 / 10 && zeros < 12000 / 2));
  predictor<x | Layer> predict{step};
  BOOST_TEST(std::ranges::all_of(predict(), [](float v) { return v == 3; }));
}
BOOST_AUTO_TEST_CASE(examples_and_channels_are_dropped_as_a_whole) {
  drops_parts<nn::drop_path<"d", 0.25>, random_bernoulli<"d", 0.25, 40, 1, 1, 1>>();
  drops_parts<nn::dropout2d<"d", 0.25>, random_bernoulli<"d", 0.25, 40, 1, 1, 50>>();
  check<weighted(param<"p", 4, 2, 3> | ckpt<"s">(nn::tanh | nn::drop_path<"d", 0.4> | nn::linear<"fc", 3> |
                                                 nn::dropout2d<"c", 0.4> | nn::tanh))>();
  test::has_groups<test::x<12, 3, 7>, nn::drop_path<"d", 0.5> | nn::dropout2d<"c", 0.5>, 3, 12>();
}

// Iteration t of a scan draws the numbers of block t of a repeat.
BOOST_AUTO_TEST_CASE(scans_draw_as_repeats_do) {
  constexpr auto h = param<"p", 4, 5>;
  using test::third_step;
  const auto scanned = third_step<scan<3, "t">(noisy_step, carried(h))>();
  const auto repeated = third_step<(h | repeat<3, "t">([](auto) { return layer(noisy_step); }))>();
  BOOST_TEST(test::same_bits(scanned.at("result"), repeated.at("result")));
  BOOST_TEST(test::same_bits(scanned.at("p"), repeated.at("p")));
}

// The groups of a tiled layer draw the numbers of their rows.
BOOST_AUTO_TEST_CASE(tiled_layers_draw_by_row) { test::has_groups<test::x<12, 7>, layer(noisy), 2, 3, 12>(); }

// Two microbatches draw the numbers of two training steps.
BOOST_AUTO_TEST_CASE(microbatches_draw_as_steps_do) {
  constexpr auto y = input<"x", 8, 5> * param<"w", 5> + random_normal<"eps", 8, 5>;
  program<mean(y), microbatch<2>, real<double>> divided;
  program<mean(y), real<double>> step;
  divided.init(seed{1});
  step.init(seed{1});
  const std::vector<double> zero(80);
  const std::span half = std::span(zero).first(40);
  const double first = step.value_and_grad(bind<"x">(half)), second = step.value_and_grad(bind<"x">(half));
  BOOST_TEST(first != second);
  BOOST_TEST(std::abs(divided.value_and_grad(bind<"x">(zero)) - (first + second) / 2) < 1e-15);
}
BOOST_AUTO_TEST_CASE(a_predictor_draws_nothing) {
  constexpr auto x = input<"x", 8, 5>;
  constexpr auto y = x * param<"w", 5>;
  program<mean(in_training(y + random_normal<"eps", 8, 5>, y))> step;
  step.init(seed{1});
  const std::vector<float> zero(40);
  BOOST_TEST(step.value_and_grad(bind<"x">(zero)) != 0);
  predictor<mean(in_training(y + random_normal<"eps", 8, 5>, y))> predict{step};
  BOOST_TEST(predict(bind<"x">(zero)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
