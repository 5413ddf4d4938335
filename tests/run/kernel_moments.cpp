// Mean and variance of columns against plain sums: awkward extents, sections, a mean that is far from zero.
#include "cairn/kernel/moments.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

template <class Real, int Rows, int Columns>
void check(Real distance) {
  constexpr shape of{Rows, Columns};
  auto x = numbers<Real>(of.count());
  for (Real& a : x) a += distance;
  std::vector<Real> mean, variance;
  for (int j = 0; j < Columns; ++j) {
    long double sum = 0, square = 0;  // doubles would err as much as what they judge
    for (int i = 0; i < Rows; ++i) sum += x[static_cast<std::size_t>(i * Columns + j)] / static_cast<long double>(Rows);
    for (int i = 0; i < Rows; ++i) square += std::pow(x[static_cast<std::size_t>(i * Columns + j)] - sum, 2) / Rows;
    mean.push_back(static_cast<Real>(sum));
    variance.push_back(static_cast<Real>(square));
  }
  for (const int threads : {1, 3}) {
    guarded<Real> m(Columns), v(Columns), scratch(moments_op::scratch(sizeof(Real), of).numbers(threads));
    run_kernel<moments_op, Real, array<of>>({m.data(), v.data(), x.data(), scratch.data()}, threads);
    const double error = (std::sqrt(Rows) + 8) * epsilon<Real>;
    BOOST_TEST_CONTEXT("rows " << Rows << " columns " << Columns) {
      BOOST_TEST(
          worst(m.data(), mean.data(), Columns, [&](auto) { return error + epsilon<Real> * std::abs(distance); }) <= 1);
      BOOST_TEST(worst(v.data(), variance.data(), Columns, [&](auto) { return 4 * error; }) <= 1);
      BOOST_TEST((m.intact() && v.intact() && scratch.intact()));
    }
    guarded<Real> alone(Columns);
    run_kernel<moments_op, Real, array<of>>({nullptr, alone.data(), x.data(), scratch.data()}, threads);
    BOOST_TEST(std::equal(alone.data(), alone.data() + Columns, v.data()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_moments)

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
