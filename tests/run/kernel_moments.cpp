// Mean and variance of columns against plain sums: awkward extents, sections, a mean that is far from zero.
#include "cairn/kernel/moments.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

template <class Real>
void check_of(kernel_pointer moments, int rows, int columns, const workspace& working, Real distance) {
  auto x = numbers<Real>(std::int64_t{rows} * columns);
  for (Real& a : x) a += distance;
  std::vector<Real> mean, variance;
  for (int j = 0; j < columns; ++j) {
    long double sum = 0, square = 0;  // doubles would err as much as what they judge
    for (int i = 0; i < rows; ++i) sum += x[static_cast<std::size_t>(i * columns + j)] / static_cast<long double>(rows);
    for (int i = 0; i < rows; ++i) square += std::pow(x[static_cast<std::size_t>(i * columns + j)] - sum, 2) / rows;
    mean.push_back(static_cast<Real>(sum));
    variance.push_back(static_cast<Real>(square));
  }
  for (const int threads : {1, 3}) {
    guarded<Real> m(columns), v(columns), scratch(working.numbers(threads));
    moments({m.data(), v.data(), x.data(), scratch.data()}, threads);
    const double error = (std::sqrt(rows) + 8) * epsilon<Real>;
    BOOST_TEST_CONTEXT("rows " << rows << " columns " << columns) {
      BOOST_TEST(
          worst(m.data(), mean.data(), columns, [&](auto) { return error + epsilon<Real> * std::abs(distance); }) <= 1);
      BOOST_TEST(worst(v.data(), variance.data(), columns, [&](auto) { return 4 * error; }) <= 1);
      BOOST_TEST((m.intact() && v.intact() && scratch.intact()));
    }
    guarded<Real> alone(columns);
    moments({nullptr, alone.data(), x.data(), scratch.data()}, threads);
    BOOST_TEST(std::equal(alone.data(), alone.data() + columns, v.data()));
  }
}
template <class Real, int Rows, int Columns>
void check(Real distance) {
  constexpr shape of{Rows, Columns};
  check_of(&run_kernel<moments_op, Real, array<of>>, Rows, Columns, moments_op::scratch(sizeof(Real), of), distance);
}

/// Of bf16 bit by bit what they are of these numbers as floats.
template <int Rows, int Columns>
void check_halves(int threads) {
  constexpr shape of{Rows, Columns};
  std::vector<bf16> x;
  std::vector<float> exact;
  for (const float a : numbers<float>(of.count())) exact.push_back(static_cast<float>(x.emplace_back(a + 3)));
  guarded<float> mean(Columns), variance(Columns), exact_mean(Columns), exact_variance(Columns);
  guarded<bf16> scratch(moments_op::scratch(2, of).numbers(threads));
  guarded<float> exact_scratch(moments_op::scratch(4, of).numbers(threads));
  run_kernel<moments_op, float, array<of, {dtype::bf16}>>({mean.data(), variance.data(), x.data(), scratch.data()},
                                                          threads);
  run_kernel<moments_op, float, array<of>>(
      {exact_mean.data(), exact_variance.data(), exact.data(), exact_scratch.data()}, threads);
  BOOST_TEST_CONTEXT("rows " << Rows << " columns " << Columns) {
    BOOST_TEST(std::equal(mean.data(), mean.data() + Columns, exact_mean.data()));
    BOOST_TEST(std::equal(variance.data(), variance.data() + Columns, exact_variance.data()));
    BOOST_TEST((mean.intact() && variance.intact() && scratch.intact()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_moments)

BOOST_AUTO_TEST_CASE(of_halves) {
  for_each(awkward{}, []<int Extent>() { check_halves<303, Extent>(1); });
  check_halves<20000, 37>(3);
}

BOOST_AUTO_TEST_CASE(awkward_extents) {
  for_each(awkward{}, []<int Extent>() {
    check<float, Extent * 3, 101 - Extent>(0);
    check<double, 301 - Extent, Extent>(0);
  });
}
BOOST_AUTO_TEST_CASE(sections_and_far_means) {
  check<float, 20000, 5>(100);
  check<double, 9000, 70>(1e4);
}

BOOST_AUTO_TEST_SUITE_END()
