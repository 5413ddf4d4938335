// Compares the mean and variance of columns, and of groups of columns, with plain sums. The tests use awkward extents,
// several sections, means far from zero and from the first rows, and numbers with squares that overflow.
#include "cairn/kernel/moments.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

constexpr double eps = 1e-5;

/// The mean and the variance of n numbers. number(i) returns number i.
struct exact_moments {
  // The type is long double, because doubles would have the same errors as the results that they judge.
  long double mean = 0, variance = 0;

  exact_moments(std::int64_t n, auto number) {
    for (std::int64_t i = 0; i < n; ++i) mean += number(i) / static_cast<long double>(n);
    for (std::int64_t i = 0; i < n; ++i) variance += std::pow(number(i) - mean, 2) / static_cast<long double>(n);
  }
};

// Rows are summed in blocks of 32, and the sum over blocks loses no digits. The numbers are below 1.
template <class Real>
void check_of(kernel_pointer moments, int rows, int columns, const workspace& working, Real distance) {
  auto x = numbers<Real>(std::int64_t{rows} * columns);
  for (Real& a : x) a += distance;
  std::vector<long double> half_mean;  // not rounded, because the bound has room for the rounding of one mean
  std::vector<Real> scale, variance;
  for (int j = 0; j < columns; ++j) {
    const exact_moments of(rows, [&](std::int64_t i) { return x[static_cast<std::size_t>(i * columns + j)]; });
    half_mean.push_back(of.mean / 2);
    scale.push_back(static_cast<Real>(2 / std::sqrt(of.variance + eps)));
    variance.push_back(static_cast<Real>(of.variance));
  }
  for (const int threads : {1, 3}) {
    guarded<Real> m(columns), s(columns), v(columns), scratch(working.numbers(threads));
    moments({m.data(), s.data(), v.data(), x.data(), scratch.data()}, threads);
    const double error = 32 * epsilon<Real>;
    const double mean_error = error / 2 + epsilon<Real> / 4 * std::abs(distance);
    double worst_mean = 0;
    for (int j = 0; j < columns; ++j) {
      const long double difference = m.data()[j] - half_mean[static_cast<std::size_t>(j)];
      worst_mean = worse(worst_mean, static_cast<double>(std::abs(difference)) / mean_error);
    }
    const auto scale_error = [&](std::int64_t i) {
      const double of = scale[static_cast<std::size_t>(i)];
      return of * of * of / 8 * error + 2 * epsilon<Real> * of;
    };
    BOOST_TEST_CONTEXT("rows " << rows << " columns " << columns) {
      BOOST_TEST(worst_mean <= 1);
      BOOST_TEST(worst(s.data(), scale.data(), columns, scale_error) <= 1);
      BOOST_TEST(worst(v.data(), variance.data(), columns, [&](auto) { return error; }) <= 1);
      BOOST_TEST((m.intact() && s.intact() && v.intact() && scratch.intact()));
    }
    guarded<Real> alone(columns);
    moments({nullptr, nullptr, alone.data(), x.data(), scratch.data()}, threads);
    BOOST_TEST(std::equal(alone.data(), alone.data() + columns, v.data()));
  }
}
template <class Real, int Rows, int Columns>
void check(Real distance) {
  using op = lang::moments_op<eps>;
  constexpr shape of{Rows, Columns};
  check_of(&run_kernel<op, Real, array<of>>, Rows, Columns, op::scratch(sizeof(Real), of), distance);
}

/// Groups of columns. Each group has a mean of its own, and the means are far apart.
template <class Real, int N, int Rows, int Columns, int Groups>
void check_groups(Real apart) {
  using op = lang::group_moments_op<Groups, eps>;
  constexpr shape of{N, Rows, Columns};
  constexpr int together = Columns / Groups;
  auto x = numbers<Real>(of.count());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += apart * static_cast<Real>(i % Columns);
  std::vector<Real> mean, scale;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < Columns; j += together) {
      const exact_moments group(Rows * together, [&](std::int64_t k) {
        return x[static_cast<std::size_t>((i * Rows + k / together) * Columns + j + k % together)];
      });
      mean.push_back(static_cast<Real>(group.mean / 2));
      scale.push_back(static_cast<Real>(2 / std::sqrt(group.variance + eps)));
    }
  for (const int threads : {1, 3}) {
    guarded<Real> m(N * Groups), s(N * Groups), scratch(op::scratch(sizeof(Real), of).numbers(threads));
    run_kernel<op, Real, array<of>>({m.data(), s.data(), x.data(), scratch.data()}, threads);
    const auto relative = [](const std::vector<Real>& to) {
      return [&to](std::int64_t i) { return 32 * epsilon<Real> * std::abs(to[static_cast<std::size_t>(i)]) + 1e-30; };
    };
    BOOST_TEST_CONTEXT(N << " examples, rows " << Rows << " columns " << Columns << " groups " << Groups) {
      BOOST_TEST(worst(m.data(), mean.data(), N * Groups,
                       [&](std::int64_t i) { return relative(mean)(i) + 32 * epsilon<Real>; }) <= 1);
      BOOST_TEST(worst(s.data(), scale.data(), N * Groups, relative(scale)) <= 1);
      BOOST_TEST((m.intact() && s.intact() && scratch.intact()));
    }
  }
}

/// The moments of bf16 equal the moments of the same numbers in float, bit for bit.
template <int Rows, int Columns>
void check_halves(int threads) {
  using op = lang::moments_op<eps>;
  constexpr shape of{Rows, Columns};
  std::vector<bf16> x;
  std::vector<float> exact;
  for (const float a : numbers<float>(of.count())) exact.push_back(static_cast<float>(x.emplace_back(a + 3)));
  guarded<float> mean(Columns), variance(Columns), exact_mean(Columns), exact_variance(Columns);
  guarded<bf16> scratch(op::scratch(2, of).numbers(threads));
  guarded<float> exact_scratch(op::scratch(4, of).numbers(threads));
  run_kernel<op, float, array<of, {dtype::bf16}>>({mean.data(), nullptr, variance.data(), x.data(), scratch.data()},
                                                  threads);
  run_kernel<op, float, array<of>>(
      {exact_mean.data(), nullptr, exact_variance.data(), exact.data(), exact_scratch.data()}, threads);
  BOOST_TEST_CONTEXT("rows " << Rows << " columns " << Columns) {
    BOOST_TEST(std::equal(mean.data(), mean.data() + Columns, exact_mean.data()));
    BOOST_TEST(std::equal(variance.data(), variance.data() + Columns, exact_variance.data()));
    BOOST_TEST((mean.intact() && variance.intact() && scratch.intact()));
  }
}

/// Runs the kernel over {rows, columns} without eps.
template <class Real, int Rows, int Columns>
struct moments_now {
  Real half_mean[Columns], twice_scale[Columns], variance[Columns];

  explicit moments_now(const std::vector<Real>& x) {
    using op = lang::moments_op<0.0>;
    constexpr shape of{Rows, Columns};
    std::vector<Real> scratch(static_cast<std::size_t>(op::scratch(sizeof(Real), of).numbers(1)));
    run_kernel<op, Real, array<of>>({half_mean, twice_scale, variance, x.data(), scratch.data()});
  }
};

/// Every other column is huge. Multiplying these columns by a power of two changes no digit of their results, and
/// nothing in the other columns.
template <class Real>
void check_huge() {
  constexpr int rows = 300, columns = 7, most = std::numeric_limits<Real>::max_exponent;
  using moments = moments_now<Real, rows, columns>;
  const auto x = numbers<Real>(rows * columns);
  const moments plain(x);
  for (const int power : {most / 2 - 3, most / 2, most / 2 + 1, most * 3 / 4, most - 2, most}) {
    auto scaled = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % columns % 2 == 0) scaled[i] = std::ldexp(x[i], power);
    }
    const moments huge(scaled);
    for (int j = 0; j < columns; ++j) {
      const int by = j % 2 == 0 ? power : 0;
      BOOST_TEST_CONTEXT("2^" << by << " column " << j) {
        BOOST_TEST(huge.half_mean[j] == std::ldexp(plain.half_mean[j], by));
        BOOST_TEST(std::abs(huge.twice_scale[j] - std::ldexp(plain.twice_scale[j], -by)) <=
                   std::numeric_limits<Real>::denorm_min());
        BOOST_TEST(huge.variance[j] == std::ldexp(plain.variance[j], 2 * by));  // the variance may be infinite
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_moments)

BOOST_AUTO_TEST_CASE(moments_of_bf16) {
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
BOOST_AUTO_TEST_CASE(groups_of_columns) {
  for_each(few{}, []<int Extent>() { check_groups<float, 3, Extent, 6, 2>(0); });
  check_groups<float, 2, 1000, 24, 3>(10);
  check_groups<float, 1, 20000, 10, 5>(0.01F);
  check_groups<double, 70, 90, 33, 1>(1);
  check_groups<double, 5, 1, 35, 7>(1);
}
BOOST_AUTO_TEST_CASE(huge_columns) {
  check_huge<float>();
  check_huge<double>();
}
// The origin of the sums is taken from rows that differ from all other rows. The kernel corrects the sums.
BOOST_AUTO_TEST_CASE(origins_far_from_the_mean) {
  constexpr int rows = 32000;
  auto x = numbers<float>(rows);
  for (std::size_t i = 0; i < rows; i += rows / 16) x[i] = 1e6F;
  const moments_now<float, rows, 1> now(x);
  const exact_moments exact(rows, [&x](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  BOOST_TEST(std::abs(now.half_mean[0] / (exact.mean / 2) - 1) <= 2 * epsilon<float>);
  BOOST_TEST(std::abs(now.variance[0] / exact.variance - 1) <= 1e-6);
}
// Equal numbers have no variance. The variance of a million numbers with two values is accurate.
BOOST_AUTO_TEST_CASE(equal_numbers_and_a_million_numbers) {
  constexpr int rows = 1'000'000;
  for (const float c : {0.1F, 3.7e9F, -3.3e38F}) {
    const moments_now<float, rows, 1> now(std::vector<float>(rows, c));
    BOOST_TEST(now.half_mean[0] == c / 2);
    BOOST_TEST(now.variance[0] == 0);
  }
  std::vector<float> x(rows);
  for (std::size_t i = 0; i < rows; ++i) x[i] = i % 2 == 0 ? 1000.001F : 999.999F;
  const moments_now<float, rows, 1> now(x);
  const exact_moments exact(rows, [&x](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  BOOST_TEST(std::abs(now.variance[0] / exact.variance - 1) <= 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
