// Solves systems of equations and decomposes matrices of awkward extents and sizes. Multiplies the results back.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "worse.hpp"

using namespace cairn;

namespace {

/// Several matrices {count, rows, columns}.
template <class Real>
struct matrices {
  int count, rows, columns;
  std::vector<Real> numbers = std::vector<Real>(static_cast<std::size_t>(count * rows * columns));

  Real& operator()(int m, int i, int j) { return numbers[static_cast<std::size_t>((m * rows + i) * columns + j)]; }
  double operator()(int m, int i, int j) const {
    return static_cast<double>(numbers[static_cast<std::size_t>((m * rows + i) * columns + j)]);
  }
  double largest() const {
    double most = 0;
    for (const Real x : numbers) most = worse(most, std::abs(static_cast<double>(x)));
    return most;
  }
};
template <class Real>
matrices<Real> drawn(int count, int rows, int columns, std::uint64_t number, double scale = 1) {
  matrices<Real> some{count, rows, columns};
  random_sequence draw(seed{7}, number);
  for (Real& x : some.numbers) x = static_cast<Real>(scale * (2 * uniform(draw()) - 1));
  return some;
}

/// Returns the largest difference between a b and `wanted`, which are computed in double.
template <class Real>
double difference(const matrices<Real>& a, const matrices<Real>& b, const matrices<Real>& wanted) {
  double most = 0;
  for (int m = 0; m < a.count; ++m)
    for (int i = 0; i < a.rows; ++i)
      for (int j = 0; j < b.columns; ++j) {
        double sum = -wanted(m, i, j);
        for (int k = 0; k < a.columns; ++k) sum += a(m, i, k) * b(m, k, j);
        most = worse(most, std::abs(sum));
      }
  return most;
}
template <class Real>
matrices<Real> transposed(const matrices<Real>& a) {
  matrices<Real> out{a.count, a.columns, a.rows};
  for (int m = 0; m < a.count; ++m)
    for (int i = 0; i < a.rows; ++i)
      for (int j = 0; j < a.columns; ++j) out(m, j, i) = static_cast<Real>(a(m, i, j));
  return out;
}

template <class Real, auto Y>
matrices<Real> computed(const auto&... inputs) {
  constexpr shape s = decltype(Y)::shape;
  program<sum(param<"unread", 1>), real<Real>> trained;
  predictor<Y, real<Real>> predict{trained};
  const auto numbers = predict(inputs...);
  return {s[0], s[1], s[2], {numbers.begin(), numbers.end()}};
}

/// A X - B is as small as rounding allows, for matrices whose first pivot is zero, and for huge and tiny numbers.
template <class Real, int Count, int N, int Columns>
void solves() {
  constexpr auto y = solve(input<"a", Count, N, N>, input<"b", Count, N, Columns>);
  for (const double scale : {1.0, 1e-30, 1e30}) {
    auto a = drawn<Real>(Count, N, N, 1, scale);
    for (int m = 0; m < Count && N > 1; ++m) a(m, 0, 0) = 0;
    const auto b = drawn<Real>(Count, N, Columns, 2);
    const auto x = computed<Real, y>(bind<"a">(a.numbers), bind<"b">(b.numbers));
    const double off = difference(a, x, b),
                 bound = N * std::numeric_limits<Real>::epsilon() * a.largest() * x.largest();
    BOOST_TEST(off <= bound,
               "{" << Count << ", " << N << ", " << N << "} of size " << scale << ": " << off << ", bound " << bound);
  }
}
/// L is lower triangular, and L L^T is the matrix, whose upper triangle is not read.
template <class Real, int Count, int N>
void decomposes() {
  const auto root = drawn<Real>(Count, N, N, 3);
  matrices<Real> a{Count, N, N}, lower{Count, N, N};
  for (int m = 0; m < Count; ++m)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = i == j ? 0.5 : 0;
        for (int k = 0; k < N; ++k) sum += std::as_const(root)(m, i, k) * std::as_const(root)(m, j, k);
        a(m, i, j) = a(m, j, i) = lower(m, i, j) = static_cast<Real>(sum);
        if (i != j) lower(m, j, i) = std::numeric_limits<Real>::quiet_NaN();
      }
  const auto l = computed<Real, cholesky(input<"a", Count, N, N>)>(bind<"a">(lower.numbers));
  const double off = difference(l, transposed(l), a), bound = N * std::numeric_limits<Real>::epsilon() * a.largest();
  BOOST_TEST(off <= bound, "{" << Count << ", " << N << ", " << N << "}: " << off << ", bound " << bound);
  for (int i = 0; i < N; ++i)
    for (int j = i + 1; j < N; ++j) BOOST_TEST(l(Count - 1, i, j) == 0);
}

}  // namespace

// The kernels of matrices with more than 2^31 numbers compile: no number of elements is an int.
using large = lang::tensor_of<decltype(input<"large", 50000, 50000>)>;
template void lang::compute(lang::solve_op, signature<float, large, large>, void* const*, const kernels::launch&);
template void lang::compute(lang::cholesky_op, signature<float, large>, void* const*, const kernels::launch&);

BOOST_AUTO_TEST_SUITE(linear_system)

BOOST_AUTO_TEST_CASE(solutions) {
  solves<float, 1, 1, 1>();
  solves<float, 3, 2, 5>();
  solves<float, 300, 7, 3>();
  solves<double, 2, 65, 17>();
}
BOOST_AUTO_TEST_CASE(factors) {
  decomposes<float, 1, 1>();
  decomposes<float, 300, 7>();
  decomposes<double, 2, 65>();
}
BOOST_AUTO_TEST_CASE(matrices_without_a_result) {
  const std::array zeros{1.0F, 2.0F, 2.0F, 4.0F};  // singular, and not positive definite
  const auto a = bind<"a">(zeros);
  constexpr auto eye = generated<1, 2, 2>([](int, int i, int j) { return i == j; });
  BOOST_TEST(!std::isfinite(computed<float, solve(input<"a", 1, 2, 2>, eye)>(a).numbers[0]));
  BOOST_TEST(std::isnan(computed<float, cholesky(input<"a", 1, 2, 2> - eye)>(a).numbers[3]));
}

BOOST_AUTO_TEST_SUITE_END()
