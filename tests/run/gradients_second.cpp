// Compares gradients of gradients with difference quotients of gradients.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <vector>

using namespace cairn;

namespace {

constexpr auto x = input<"x", 5, 3>;
constexpr auto v = input<"v", 6, 6>;
constexpr auto inner = nn::linear<"w", 6> | nn::gelu | nn::softmax | nn::linear<"c", 6>;
constexpr auto net = nn::linear<"a", 6> | ckpt<"o", allow_useless>(ckpt<"i">(inner) | nn::tanh) | nn::sigmoid;
constexpr auto loss = mean(square(x | net));

std::vector<double> numbers(std::size_t count, std::uint64_t number) {
  random_sequence draw(seed{3}, number);
  std::vector<double> some(count);
  for (double& one : some) one = 2 * uniform(draw()) - 1;
  return some;
}
const std::vector<double> xs = numbers(15, 0), vs = numbers(36, 1);

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_second)

/// The gradient of the program is the product of the Hessian with v. It is compared with the change of the loss's
/// gradient along v.
BOOST_AUTO_TEST_CASE(product_with_the_hessian) {
  constexpr auto along_v = sum(grad(loss, param<"w.weight", 6, 6>) * v);
  program<along_v, real<double>> product;
  program<loss, real<double>> step;
  for (const std::uint64_t start : {1U, 2U}) {
    product.init(seed{start});
    step.init(seed{start});
    static_cast<void>(product.value_and_grad(bind<"x">(xs), bind<"v">(vs)));
    const auto gradient_at = [&](double distance) {
      auto w = step.param<"w.weight">();
      for (std::size_t i = 0; i < 36; ++i) w.data()[i] += distance * vs[i];
      static_cast<void>(step.value_and_grad(bind<"x">(xs)));
      for (std::size_t i = 0; i < 36; ++i) w.data()[i] -= distance * vs[i];
      const auto g = step.grad<"a.weight">();
      return std::vector<double>(g.begin(), g.end());
    };
    const double h = 1e-3;
    const auto before = gradient_at(-h), after = gradient_at(h), far_before = gradient_at(-2 * h),
               far_after = gradient_at(2 * h);
    const auto seen = product.grad<"a.weight">();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double quotient = (8 * (after[i] - before[i]) - (far_after[i] - far_before[i])) / (12 * h);
      BOOST_TEST(std::abs(seen.data()[i] - quotient) <= 1e-6 * std::max(std::abs(quotient), 1e-3));
    }
  }
}

/// Attention computes its second gradient by a composition of other operations. The test uses all options of attention.
BOOST_AUTO_TEST_CASE(second_gradients_of_attention) {
  constexpr auto q = param<"q", 1, 5, 2, 3>;
  constexpr auto k = param<"k", 1, 4, 1, 3>;
  constexpr auto mask = param<"mask", 5, 4>;
  constexpr auto attended = sum(sin(nn::attention<"d", 0.3>(3_c * q, k, exp(k), mask, nn::causal)));
  constexpr auto slopes = sum(square(grad(attended, q))) + sum(sin(grad(attended, k))) + sum(sin(grad(attended, mask)));
  for (const std::uint64_t start : {1U, 2U}) BOOST_TEST(gradcheck<attended + slopes>(seed{start}).relative < 1e-6);
}

/// Third-order gradients with respect to a leaf and to an input, through both segments.
BOOST_AUTO_TEST_CASE(third_gradients_through_segments) {
  constexpr auto third = [] {
    const auto [by_a, by_x] = grad(loss, param<"a.weight", 6, 3>, x);
    return loss + sum(square(grad(sum(square(by_x)), x))) + sum(square(by_a));
  }();
  const gradient_deviation d = gradcheck<third>(seed{1}, bind<"x">(xs));
  BOOST_TEST(d.relative < 1e-6, "at " << d.name << '[' << d.at << "]: " << d.gradient << " and " << d.quotient);
}

BOOST_AUTO_TEST_SUITE_END()
