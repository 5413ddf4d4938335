// Compares norms and variances in float and bf16 with double. The tests use huge and tiny numbers, equal numbers, a
// mean that is many deviations from zero, and as many rows as an image has pixels.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "worse.hpp"

using namespace cairn;

namespace {

constexpr auto x = input<"x", 2, 12, 6>;
constexpr auto c = input<"c", 2, 12, 6>;
constexpr auto layer_normed = x | nn::layer_norm<"ln">;
constexpr auto root_normed = x | nn::rms_norm<"rms", 1e-5>;
constexpr auto batch_normed = x | nn::batch_norm<"bn">;
constexpr auto group_normed = x | nn::group_norm<"gn", 2>;
constexpr auto all = layer_normed + root_normed + batch_normed + group_normed;
constexpr std::size_t count = 2 * 12 * 6;

/// Numbers between -1 and 1.
std::vector<double> numbers(double phase) {
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = std::sin(static_cast<double>(i * i) * 0.37 + phase);
  return out;
}

/// Returns each norm of some numbers, the gradients of the sum of all norms times c, and the running statistics.
template <class Real, class... Options>
std::vector<std::pair<std::string, std::vector<double>>> normed(const std::vector<double>& numbers_bound) {
  program<outputs(sum(all * c), layer_normed, root_normed, batch_normed, group_normed), wrt<"x">, Options...> step;
  step.init(seed{1});
  const auto times = numbers(2);
  const std::vector<Real> of(numbers_bound.begin(), numbers_bound.end()), by(times.begin(), times.end());
  const auto results = step.value_and_grad(bind<"x">(of), bind<"c">(by));
  std::vector<std::pair<std::string, std::vector<double>>> out;
  const auto add = [&out](const char* name, auto view) {
    out.emplace_back(name, std::vector<double>(view.data(), view.data() + view.size()));
  };
  add("layer_norm", std::get<1>(results));
  add("rms_norm", std::get<2>(results));
  add("batch_norm", std::get<3>(results));
  add("group_norm", std::get<4>(results));
  add("gradient of x", step.template grad<"x">());
  add("gradient of ln.weight", step.template grad<"ln.weight">());
  add("gradient of rms.weight", step.template grad<"rms.weight">());
  add("gradient of bn.weight", step.template grad<"bn.weight">());
  add("gradient of gn.weight", step.template grad<"gn.weight">());
  add("gradient of gn.bias", step.template grad<"gn.bias">());
  add("running mean", step.template param<"bn.running_mean">());
  add("running variance", step.template param<"bn.running_var">());
  return out;
}

/// Compares with double. The error may be `within` of the largest number. A number that float cannot hold must be
/// infinite.
template <class... Options>
void check(const std::string& what, const std::vector<double>& numbers_bound, double within) {
  const auto some = normed<float, Options...>(numbers_bound), exact = normed<double, real<double>>(numbers_bound);
  for (std::size_t k = 0; k < some.size(); ++k) {
    double most = 0, off = 0;
    for (std::size_t i = 0; i < exact[k].second.size(); ++i) {
      const double wanted = exact[k].second[i], found = some[k].second[i];
      if (std::abs(wanted) > std::numeric_limits<float>::max()) {
        off = worse(off, found == std::numeric_limits<double>::infinity() ? 0 : 1e300);
      } else {
        most = worse(most, std::abs(wanted));
        off = worse(off, std::abs(found - wanted));
      }
    }
    BOOST_TEST(off <= within * most + std::numeric_limits<float>::denorm_min(),
               some[k].first << " of " << what << " is off by " << off << " of " << most);
  }
}
std::vector<double> rounded(std::vector<double> of, double factor, double distance = 0) {
  for (double& e : of) e = double{static_cast<float>(e * factor + distance)};
  return of;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(norms)

BOOST_AUTO_TEST_CASE(norms_of_huge_and_tiny_numbers) {
  for (const double factor : {1e-30, 1e-10, 1.0, 1e10, 1e18, 1e19, 1e25, 1e30, 8e37, 3.4e38})
    BOOST_TEST_CONTEXT("numbers up to " << factor) check("numbers", rounded(numbers(0), factor), 2e-6);
}
BOOST_AUTO_TEST_CASE(norms_of_the_largest_numbers_of_both_signs) {
  std::vector<double> of(count, double{std::numeric_limits<float>::max()});
  for (std::size_t i = 0; i < count; i += 5) of[i] = -of[i];
  check("the largest numbers", of, 2e-6);
}
// A float holds the mean with an error of at most half a unit. This is 6e-8 of the mean. The mean is as many deviations
// from zero as its value says.
BOOST_AUTO_TEST_CASE(norms_of_numbers_with_far_means) {
  check("a mean of 100", rounded(numbers(0), 1, 100), 100 * 1e-7);
  check("a mean of 10000", rounded(numbers(0), 1, 1e4), 1e4 * 1e-7);
}
// Equal numbers have no deviation, however large they are. The mean square of a row of equal numbers is their square.
BOOST_AUTO_TEST_CASE(norms_of_equal_numbers) {
  for (const double e : {0.1, -1e4, 3.7e9, 3.3e38}) {
    const auto found = normed<float>(rounded(std::vector<double>(count), 1, e));
    for (const std::size_t k : {0U, 2U, 3U}) {
      BOOST_TEST_CONTEXT(found[k].first << " of " << e)
      for (const double y : found[k].second) BOOST_TEST(y == 0);
    }
    check("equal numbers", rounded(std::vector<double>(count), 1, e), 2e-6);
  }
}
// bf16 has 8 bits, and values that are computed from it are rounded several times.
BOOST_AUTO_TEST_CASE(norms_in_bf16) {
  for (const double factor : {1.0, 1e19, 1e30, 8e37})
    BOOST_TEST_CONTEXT("numbers up to " << factor) check<mixed<bf16>>("bf16", rounded(numbers(0), factor), 0.02);
}
// Predictions for finite numbers are finite, even if a running variance is not.
BOOST_AUTO_TEST_CASE(predictions_after_huge_numbers) {
  program<sum(batch_normed * c)> step;
  step.init(seed{1});
  const auto by = numbers(2);
  const std::vector<float> ones(by.begin(), by.end());
  const auto huge = rounded(numbers(0), 1e30);
  step.value_and_grad(bind<"x">(std::vector<float>(huge.begin(), huge.end())), bind<"c">(ones));
  predictor<batch_normed> predict{step};
  for (const float y : predict(bind<"x">(ones))) BOOST_TEST(std::isfinite(y));
}

// A group of a million pixels. Long sums lose no digits.
BOOST_AUTO_TEST_CASE(norm_of_a_long_group) {
  constexpr int pixels = 1'000'000;
  constexpr auto y = input<"pixels", 1, pixels, 2> | nn::group_norm<"gn", 2>;
  program<outputs(sum(y), slice<1, 0, 2>(y))> step;
  step.init(seed{1});
  std::vector<float> of(2 * pixels);
  for (std::size_t i = 0; i < of.size(); ++i) of[i] = 0.1F + (i / 2 % 2 == 0 ? 0.001F : -0.001F);
  const auto [total, first] = step.value_and_grad(bind<"pixels">(of));
  const double above = of[0], below = of[2], mean = (above + below) / 2, off = (above - below) / 2;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      BOOST_TEST(std::abs(first(0, i, j) - ((i == 0 ? above : below) - mean) / std::sqrt(off * off + 1e-5)) < 2e-6);
}

// The mean may be rounded by more than a deviation.
BOOST_AUTO_TEST_CASE(variances_around_a_far_mean) {
  constexpr auto of = input<"of", 3, 33>;
  program<outputs(sum(var<-1>(of)), var<-1>(of)), wrt<"of">> step;
  std::vector<float> numbers(3 * 33);
  for (std::size_t i = 0; i < 33; ++i) {
    numbers[i] = 1000 + 0.001F * std::sin(static_cast<float>(i * i));
    numbers[33 + i] = 3.7e9F;
    numbers[66 + i] = 1e30F * std::sin(static_cast<float>(i * i));
  }
  const auto [total, variance] = step.value_and_grad(bind<"of">(numbers));
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < 33; ++i) mean += double{numbers[i]} / 33;
  for (std::size_t i = 0; i < 33; ++i) square += std::pow(numbers[i] - mean, 2) / 32;
  BOOST_TEST(std::abs(variance(0) / square - 1) < 1e-6);
  BOOST_TEST(variance(1) == 0);
  BOOST_TEST(variance(2) == std::numeric_limits<float>::infinity());
  double off = 0;
  for (std::size_t i = 0; i < 33; ++i)
    off = worse(off, std::abs(step.grad<"of">()(0, static_cast<int>(i)) - (numbers[i] - mean) / 16));
  BOOST_TEST(off < 1e-6 * std::sqrt(square));
}

BOOST_AUTO_TEST_SUITE_END()
