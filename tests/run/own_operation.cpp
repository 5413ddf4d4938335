// Operations that are not the library's: docs/inside.md shows this file.
#include <array>
#include <cmath>

#include "gradients.hpp"

namespace own {

// [elementwise]
/// log(1 + exp(x)), elementwise.
struct softplus_op : elementwise_op {
  static constexpr fixed_string name = "softplus";
  static constexpr auto vjp(auto g, auto /* result */, auto x) { return gradients(g * sigmoid(x)); }
};
template <an_expression X>
constexpr made<softplus_op, X> softplus(X) {
  return {};
}
/// V is one SIMD register, or one number. exp of what is never positive cannot overflow.
template <class V>
V lanewise(softplus_op, V x) {
  using kernel::abs, kernel::exp, kernel::log, kernel::max;
  return max(x, kernel::all<V>(0)) + log(kernel::all<V>(1) + exp(-abs(x)));
}
// [elementwise]

// [kernel]
/// Running sums of each row of {..., columns}: y[j] = x[0] + ... + x[j]; or, from the end, x[j] + ... +
/// x[columns - 1].
template <bool FromEnd>
struct running_sum_op : op {
  static constexpr fixed_string name = "running_sum";
  using rule = rule::axes_exist;
  static constexpr int overwrites(int /* result */) { return 0; }
  static constexpr shape result(const shape& x) { return x.rank > 0 ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<running_sum_op<!FromEnd>>(g)); }
};
template <an_expression X>
constexpr made<running_sum_op<false>, X> running_sum(X) {
  return {};
}
/// Operands: the result, then the argument. `overwrites` allows both to be the same memory.
template <bool FromEnd, class Real, class X>
void compute(running_sum_op<FromEnd>, signature<Real, X>, void* const* operands) {
  constexpr int columns = X::shape[-1];
  const Real* in = static_cast<const Real*>(operands[1]);
  Real* out = static_cast<Real*>(operands[0]);
  for (std::int64_t row = 0; row < X::shape.count(); row += columns) {
    Real sum = 0;
    for (int k = 0; k < columns; ++k) {
      const std::int64_t j = row + (FromEnd ? columns - 1 - k : k);
      out[j] = sum += in[j];
    }
  }
}
// [kernel]

}  // namespace own

BOOST_AUTO_TEST_SUITE(own_operations)

constexpr auto x = param<"x", 3, 5>;
constexpr auto both = layer([](auto v) { return own::running_sum(own::softplus(v * 3_c)) | nn::tanh; });

BOOST_AUTO_TEST_CASE(values) {
  constexpr auto v = param<"v", 2, 3>;
  const std::array<float, 6> given{-100, -1, 0, 1, 2, 100};
  program<sum(own::softplus(v))> step;
  std::copy(given.begin(), given.end(), step.parameters().begin());
  predictor<outputs(own::softplus(v), own::running_sum(v))> predict{step};
  const auto [soft, sums] = predict();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double exact = std::log1p(std::exp(static_cast<double>(given[i])));
    BOOST_TEST(std::abs(static_cast<double>(soft(i / 3, i % 3)) - exact) < 1e-6);
  }
  BOOST_TEST(sums(0, 2) == -101);
  BOOST_TEST(sums(1, 0) == 1);
  BOOST_TEST(sums(1, 2) == 103);
}
BOOST_AUTO_TEST_CASE(gradients_are_right) {
  check<weighted(own::softplus(x * 3_c))>();
  check<weighted(own::running_sum(square(x)))>();
  check<weighted(x | both)>();
}
template <auto Segment, class... Options>
using step_of = program<sum(x | nn::tanh | Segment), Options...>;
template <auto Segment>
void is_checkpointed() {
  step_of<Segment> checkpointed;
  step_of<Segment, plain> stored;
  checkpointed.init(seed{1});
  stored.init(seed{1});
  BOOST_TEST(checkpointed.value_and_grad() == stored.value_and_grad());
  const auto a = checkpointed.gradients(), b = stored.gradients();
  BOOST_TEST(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}
BOOST_AUTO_TEST_CASE(they_are_checkpointed_like_any_other) {
  constexpr auto segment = ckpt<"own">(both | both);
  constexpr auto keeping = ckpt<"own", save<"middle">>(both | nn::tag<"middle"> | both);
  constexpr auto bytes = step_of<segment>::memory().stored_bytes;
  static_assert(bytes < step_of<keeping>::memory().stored_bytes);
  static_assert(bytes < step_of<segment, plain>::memory().stored_bytes);
  is_checkpointed<segment>();
  is_checkpointed<keeping>();
}

BOOST_AUTO_TEST_SUITE_END()
