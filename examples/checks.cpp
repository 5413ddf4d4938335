// Tests of your own with Boost.Test: gradients of your model, and an operation that you add. The message of a failed
// gradient check names the parameter, the number and the deviation. The message of a failed operation check names the
// law that the operation breaks.
//
// g++ -std=c++20 -O1 -march=native -DBOOST_TEST_DYN_LINK checks.cpp -lboost_unit_test_framework -lz
#define BOOST_TEST_MODULE checks
#include <boost/test/unit_test.hpp>
#include <cairn/boost_test.hpp>
#include <cairn/cairn.hpp>
#include <vector>

using namespace cairn;

namespace mine {

/// Divides each row of {..., columns} by the sum of its numbers.
struct shares_op : op {
  static constexpr fixed_string name = "shares";
  using rule = misuse::axes_exist;
  static constexpr shape result(const shape& x) { return x.rank > 0 ? x : no_shape; }
  static constexpr auto vjp(auto g, auto y, auto x) {
    return gradients((g - sum<-1>(g * y, keepdim)) / sum<-1>(x, keepdim));
  }
};
template <an_expression X>
constexpr made<shares_op, X> shares(X) {
  return {};
}
template <class Real, class X>
void compute(shares_op, signature<Real, X>, void* const* operands) {
  constexpr int columns = X::shape[-1];
  Real* y = static_cast<Real*>(operands[0]);
  const Real* x = static_cast<const Real*>(operands[1]);
  for (std::int64_t row = 0; row < X::shape.count(); row += columns) {
    Real total = 0;
    for (int k = 0; k < columns; ++k) total += x[row + k];
    for (int k = 0; k < columns; ++k) y[row + k] = x[row + k] / total;
  }
}

}  // namespace mine

namespace {

// Small extents show as much as large ones. The check evaluates four training steps for each number of each parameter.
constexpr auto unit = nn::linear<"in", 9> | nn::gelu | nn::linear<"out", 4>;
constexpr auto net = input<"x", 3, 4> | repeat<3, "block">([](auto) { return ckpt<"unit">(nn::residual(unit)); });
constexpr auto loss = mean(square(mine::shares(exp(net))));

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_of_the_model) {
  const std::vector<double> x{1, -2, 3, -4, 0.5, 0, -0.5, 1, 2, 2, -1, -1};
  BOOST_TEST(check_gradient<loss>(seed{1}, bind<"x">(x)));
  // Checks the gradient of the input, too.
  BOOST_TEST((check_gradient<loss, freeze<"block.0">, wrt<"x">>(seed{1}, bind<"x">(x))));
}

// Commas within <...> need a second pair of parentheses. All numbers begin as 2, because the quotient is badly
// conditioned if the sum is close to 0.
BOOST_AUTO_TEST_CASE(an_operation) {
  BOOST_TEST((check_operation<mine::shares_op, param_from<"x", initial::constant(2), 3, 5>>()));
  BOOST_TEST((check_operation<mine::shares_op, param_from<"x", initial::constant(2), 7, 1>>(seed{2})));
}
