// Operations that a user adds: their results and their gradients. tests/static/own.cpp checks their plans, and
// tests/laws/own.cpp checks them in segments.
#include <array>
#include <cmath>
#include <vector>

#include "../models/own.hpp"
#include "gradients.hpp"

namespace {

// The numbers are far apart, so that the largest stays the largest.
constexpr auto p = param_from<"p", initial::uniform(2), 8, 12>;
constexpr std::array<std::int32_t, 8> which{0, 3, 1, 0, 4, 2, 0, 1};

/// p has the values 0.5, -1, 1.5, ..., which are 96 different numbers.
double number(std::size_t i) { return (i % 2 == 0 ? 0.5 : -0.5) * static_cast<double>(i + 1); }

/// Returns what a predictor computes from p.
template <auto Model>
auto predicted(const auto&... inputs) {
  program<sum(p)> step;
  for (std::size_t i = 0; i < 96; ++i) step.parameters()[i] = static_cast<float>(number(i));
  predictor<Model> predict{step};
  const auto view = predict(inputs...);
  return std::vector(view.begin(), view.end());
}
bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(1.0, std::abs(b)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(own_operations)

BOOST_AUTO_TEST_CASE(elementwise_and_a_kernel) {
  const auto soft = predicted<own::log1pexp(p)>();
  for (std::size_t i = 0; i < 96; ++i) BOOST_TEST(near(soft[i], std::log1p(std::exp(number(i)))));
  const auto sine = predicted<std::get<0>(own::sine_cosine(p))>(),
             cosine = predicted<std::get<1>(own::sine_cosine(p))>();
  for (std::size_t i = 0; i < 96; ++i)
    BOOST_TEST((near(sine[i], std::sin(number(i))) && near(cosine[i], std::cos(number(i)))));
  const auto sums = predicted<own::running_sum(p)>();
  double sum = 0;
  for (std::size_t i = 0; i < 96; ++i) BOOST_TEST(near(sums[i], sum = number(i) + (i % 12 == 0 ? 0 : sum)));
}
BOOST_AUTO_TEST_CASE(several_results) {
  const auto most = predicted<std::get<0>(own::largest(p))>();
  const auto at = predicted<as_real(std::get<1>(own::largest(p)))>();
  const auto picked = predicted<own::picked(p, models::y)>(bind<"y">(which));
  for (std::size_t row = 0; row < 8; ++row) {
    BOOST_TEST(most[row] == number(row * 12 + 10));
    BOOST_TEST(at[row] == 10);
    BOOST_TEST(picked[row] == number(row * 12 + static_cast<std::size_t>(which[row])));
  }
  const auto scale = predicted<std::get<1>(own::normalized(p))>();
  for (const auto& y :
       {predicted<std::get<0>(own::normalized(p))>(), predicted<std::get<0>(own::normalized(p)) + 0_c>()}) {
    for (std::size_t row = 0; row < 8; ++row) {
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < 12; ++k) sum += number(row * 12 + k);
      for (std::size_t k = 0; k < 12; ++k) squares += std::pow(number(row * 12 + k) - sum / 12, 2);
      const double expected = 1 / std::sqrt(squares / 12 + 1e-5);
      BOOST_TEST(near(scale[row], expected));
      for (std::size_t k = 0; k < 12; ++k)
        BOOST_TEST(near(y[row * 12 + k], (number(row * 12 + k) - sum / 12) * expected));
    }
  }
}
BOOST_AUTO_TEST_CASE(maps) {
  const auto flipped = predicted<own::flipped<1>(p)>(), rolled = predicted<own::rolled<0, -3>(p)>(),
             up = predicted<own::upsampled<0, 2>(p)>();
  const auto product = predicted<matmul(own::flipped<0>(p), transpose(p))>();
  for (std::size_t row = 0; row < 8; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < 12; ++k) {
      BOOST_TEST(flipped[row * 12 + k] == number(row * 12 + 11 - k));
      BOOST_TEST(rolled[row * 12 + k] == number((row + 3) % 8 * 12 + k));
      BOOST_TEST(up[row * 24 + k] == number(row * 12 + k));
      BOOST_TEST(up[row * 24 + 12 + k] == number(row * 12 + k));
      sum += number((7 - row) * 12 + k) * number(k);
    }
    BOOST_TEST(near(product[row * 8], sum));
  }
}
BOOST_AUTO_TEST_CASE(state) {
  constexpr auto centered = own::centered<"mean">(p);
  program<sum(square(centered))> step;
  step.init(seed{1});
  for (std::size_t i = 0; i < 96; ++i) step.param<"p">().data()[i] = static_cast<float>(number(i));
  for (int i = 0; i < 2; ++i) static_cast<void>(step.value_and_grad());
  predictor<centered> predict{step};
  const auto y = predict();
  for (std::size_t k = 0; k < 12; ++k) {
    double mean = 0;
    for (std::size_t row = 0; row < 8; ++row) mean += number(row * 12 + k) / 8;
    BOOST_TEST(near(step.param<"mean">()(k), 0.19 * mean));
    BOOST_TEST(near(y(2, k), number(24 + k) - 0.19 * mean));
  }
}
// A half has eleven binary digits. Its numbers are 1, 1 + 1 / 1024, ... and 128, 128 + 1 / 8, ..., and no number is
// below 2^-24.
BOOST_AUTO_TEST_CASE(elements_of_other_types) {
  constexpr std::array<float, 8> given{0,     1 + 1 / 2048.0F, 1 + 3 / 2048.0F, 1 + 5 / 8192.0F,
                                       2.75F, 254.9F,          200.0625F,       0x3p-25F};
  constexpr std::array<float, 8> nearest{0, 1, 1 + 4 / 2048.0F, 1 + 1 / 1024.0F, 2.75F, 254.875F, 200, 0x1p-23F};
  constexpr auto v = param<"v", 8>;
  constexpr auto half = as<own::half>(v);
  constexpr auto whole = as_real(as<std::int32_t>(-v));
  program<outputs(sum(as_real(half) * v), half, as<double>(v), whole, as_real(as<std::uint8_t>(v)))> step;
  std::ranges::copy(given, step.parameters().begin());
  const auto [loss, halves, doubles, wholes, bytes] = step.value_and_grad();
  static_assert(sizeof(halves(0)) == 2 && sizeof(doubles(0)) == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_TEST(static_cast<float>(halves(i)) == nearest[i]);
    BOOST_TEST(doubles(i) == static_cast<double>(given[i]));
    BOOST_TEST(wholes(i) == std::trunc(-given[i]));
    BOOST_TEST(bytes(i) == std::trunc(given[i]));
    // The gradient passes through the rounding operations, and is rounded there.
    BOOST_TEST(step.grad<"v">()(i) == nearest[i] + static_cast<float>(own::half(given[i])));
  }
}

BOOST_AUTO_TEST_CASE(indices_may_be_bytes) {
  constexpr auto bytes = as<std::uint8_t>(models::y);
  program<outputs(cross_entropy(p, models::y), accuracy(p, models::y))> whole;
  program<outputs(cross_entropy(p, bytes), accuracy(p, bytes))> in_bytes;
  whole.init(seed{1});
  in_bytes.init(seed{1});
  BOOST_TEST((whole.value_and_grad(bind<"y">(which)) == in_bytes.value_and_grad(bind<"y">(which))));
  BOOST_TEST(std::ranges::equal(whole.gradients(), in_bytes.gradients()));
  const auto picked = predicted<own::picked(p, bytes)>(bind<"y">(which));
  for (std::size_t row = 0; row < 8; ++row)
    BOOST_TEST(picked[row] == number(row * 12 + static_cast<std::size_t>(which[row])));
}
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(threads_share_a_kernel) {
  constexpr auto wide = param<"p", 1030, 515>;
  constexpr auto loss = sum(tanh(std::get<0>(own::normalized(wide)) * wide));
  program<loss> alone;
  program<loss, threads<3>> together;
  alone.init(seed{1});
  together.init(seed{1});
  BOOST_TEST(alone.value_and_grad() == together.value_and_grad());
  BOOST_TEST(std::ranges::equal(alone.gradients(), together.gradients()));
}
#endif

/// Checks first and second order gradients, in double.
template <auto F, auto... Labels>
void check_both(const auto&... inputs) {
  constexpr auto loss = weighted(F(p, Labels...));
  check<loss>(inputs...);
  // With labels, there are no gradients of gradients.
  if constexpr (sizeof...(Labels) == 0) check<sum(square(grad(loss, p)))>();
}
BOOST_AUTO_TEST_CASE(gradients_are_right) {
  check_both<models::log1pexp>();
  check_both<models::running_sum>();
  check_both<models::largest>();
  check_both<models::normalized>();
  check_both<models::centered>();
  check_both<models::mapped>();
  check_both<models::in_double>();
  check_both<models::scored, models::y>(bind<"y">(which));
}

BOOST_AUTO_TEST_SUITE_END()
