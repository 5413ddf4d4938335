// Compares sorts, running sums, and gathers and scatter-adds of single elements with plain loops.
#include "cairn/kernel/cumsum.hpp"
#include "cairn/kernel/gather_along.hpp"
#include "cairn/kernel/sort.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "kernel_check.hpp"

using cairn::shape;
using namespace kernel_check;

namespace {

/// Calls visit(first, stride) for each column along the middle axis of {outer, extent, inner}: the number of its first
/// element, and the distance between two of its elements.
void each_column(const shape& s, auto visit) {
  for (int k = 0; k < s[0]; ++k)
    for (int j = 0; j < s[2]; ++j) visit(k * s[1] * s[2] + j, s[2]);
}
/// Returns the numbers of a column.
template <class Number>
std::vector<Number> column(const Number* in, int count, int first, int stride) {
  std::vector<Number> out;
  for (int i = 0; i < count; ++i) out.push_back(in[first + i * stride]);
  return out;
}
template <class Real>
bool same(Real x, Real y) {
  return x == y ? std::signbit(x) == std::signbit(y) : x != x && y != y;
}

/// Few different numbers, among them zeros of both signs, infinities and NaN.
template <class Real>
std::vector<Real> with_ties(std::int64_t n) {
  auto values = numbers<Real>(n, 3);
  for (Real& x : values) x = std::round(x);
  for (std::size_t i = 3; i < values.size(); i += 7) values[i] = i % 2 == 0 ? no_number<Real> : infinity<Real>;
  return values;
}

template <class Real, bool Descending>
void check_sorted(kernel_pointer kernel, const shape& s, int count, int threads, bool has_values, bool has_positions) {
  const auto in = with_ties<Real>(s.count());
  const shape to{s[0], count, s[2]};
  guarded<Real> values(to.count());
  guarded<std::int32_t> positions(to.count());
  std::vector<Real> scratch(static_cast<std::size_t>(s[1] * threads));
  kernel({has_values ? values.data() : nullptr, has_positions ? positions.data() : nullptr, in.data(), scratch.data()},
         threads);
  bool right = true;
  int columns = 0;
  each_column(s, [&](int first, int stride) {
    const auto x = column(in.data(), s[1], first, stride);
    std::vector<std::int32_t> at(x.size());
    std::iota(at.begin(), at.end(), 0);
    const auto before = [](Real a, Real b) {
      return Descending ? b < a || (b == b && a != a) : a < b || (a == a && b != b);
    };
    std::sort(at.begin(), at.end(), [&](std::int32_t i, std::int32_t j) {
      const Real a = x[static_cast<std::size_t>(i)], b = x[static_cast<std::size_t>(j)];
      return before(a, b) || (!before(b, a) && i < j);  // equal elements stay in their own order
    });
    const int begin = columns / s[2] * count * s[2] + columns % s[2];
    for (int i = 0; i < count; ++i) {
      const std::int32_t wanted = at[static_cast<std::size_t>(i)];
      right &= !has_positions || positions.data()[begin + i * stride] == wanted;
      right &= !has_values || same(values.data()[begin + i * stride], x[static_cast<std::size_t>(wanted)]);
    }
    ++columns;
  });
  BOOST_TEST_CONTEXT("extents " << s[0] << ' ' << s[1] << ' ' << s[2] << ", count " << count) BOOST_TEST(right);
  BOOST_TEST((values.intact() && positions.intact()));
}

template <class Real, bool FromEnd>
void check_cumsum(kernel_pointer kernel, const shape& s, int threads) {
  const auto in = numbers<Real>(s.count());
  guarded<Real> out(s.count());
  std::vector<Real> in_place = in;
  kernel({out.data(), in.data()}, threads);
  kernel({in_place.data(), in_place.data()}, threads);
  double off = 0;
  each_column(s, [&](int first, int stride) {
    const auto x = column(in.data(), s[1], first, stride), y = column(out.data(), s[1], first, stride);
    long double sum = 0, sizes = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      const std::size_t i = FromEnd ? x.size() - 1 - n : n;
      sum += static_cast<long double>(x[i]);
      sizes += std::abs(static_cast<long double>(x[i]));
      off = worse(off, static_cast<double>(std::abs(static_cast<long double>(y[i]) - sum) / sizes));
    }
  });
  BOOST_TEST_CONTEXT("extents " << s[0] << ' ' << s[1] << ' ' << s[2]) BOOST_TEST(off <= 16 * epsilon<Real>);
  BOOST_TEST(out.intact());
  BOOST_TEST(std::equal(in_place.begin(), in_place.end(), out.data()));
}

template <class Real>
void check_along(kernel_pointer gather, kernel_pointer scatter_add, const shape& s, int count, int threads) {
  const shape to{s[0], count, s[2]};
  const auto in = numbers<Real>(s.count()), values = numbers<Real>(to.count());
  const auto at = labels(static_cast<int>(to.count()), s[1]);
  guarded<Real> found(to.count()), sums(s.count()), lost(count > cairn::costs::section_terms ? s.count() : 0);
  std::vector<Real> in_place = in;
  gather({found.data(), in.data(), at.data()}, threads);
  scatter_add({sums.data(), in.data(), at.data(), values.data(), lost.data()}, threads);
  scatter_add({in_place.data(), in_place.data(), at.data(), values.data(), lost.data()}, threads);
  bool right = true;
  std::vector<long double> exact(in.begin(), in.end()), sizes(in.size(), 1);
  for (int k = 0; k < s[0]; ++k) {
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < s[2]; ++j) {
        const auto from = static_cast<std::size_t>((k * count + i) * s[2] + j);
        const auto place = static_cast<std::size_t>((k * s[1] + at[from]) * s[2] + j);
        right &= found.data()[from] == in[place];
        exact[place] += static_cast<long double>(values[from]);
        sizes[place] += std::abs(static_cast<long double>(values[from]));
      }
    }
  }
  double off = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    off = worse(off, static_cast<double>(std::abs(static_cast<long double>(sums.data()[i]) - exact[i]) / sizes[i]));
  BOOST_TEST_CONTEXT("extents " << s[0] << ' ' << s[1] << ' ' << s[2] << ", count " << count) {
    BOOST_TEST(right);
    BOOST_TEST(off <= 16 * epsilon<Real>);
    BOOST_TEST((found.intact() && sums.intact() && lost.intact()));
    BOOST_TEST(std::equal(in_place.begin(), in_place.end(), sums.data()));
  }
}

template <class Real, int Outer, int Extent, int Inner, int Count>
void check_all(int threads = 1) {
  constexpr shape s{Outer, Extent, Inner};
  constexpr int some = std::min(Count, Extent);
  using table = array<s>;
  using values = array<shape{Outer, Count, Inner}>;
  using indices = array<shape{Outer, Count, Inner}, cairn::index_below(Extent)>;
  check_sorted<Real, false>(&run_kernel<cairn::lang::sorted_op<1, Extent, false>, Real, table>, s, Extent, threads,
                            true, true);
  check_sorted<Real, true>(&run_kernel<cairn::lang::sorted_op<-2, some, true>, Real, table>, s, some, threads, true,
                           Outer == 1);
  check_sorted<Real, true>(&run_kernel<cairn::lang::sorted_op<1, some, true>, Real, table>, s, some, threads,
                           Outer == 1, true);
  check_cumsum<Real, false>(&run_kernel<cairn::lang::cumsum_op<1, false>, Real, table>, s, threads);
  check_cumsum<Real, true>(&run_kernel<cairn::lang::cumsum_op<-2, true>, Real, table>, s, threads);
  check_along<Real>(&run_kernel<cairn::lang::gather_along_op<1>, Real, table, indices>,
                    &run_kernel<cairn::lang::scatter_add_along_op<1>, Real, table, indices, values>, s, Count, threads);
}
template <class Real>
void check_shapes() {
  check_all<Real, 1, 1, 1, 1>();
  check_all<Real, 1, 7, 1, 3>();
  check_all<Real, 3, 33, 1, 40>();
  check_all<Real, 1, 65, 5, 2>();
  check_all<Real, 2, 9, 17, 100>();
  check_all<Real, 1, 3, 33, 33>();
  check_all<Real, 1, 300, 1, 2000>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_sorted)

BOOST_AUTO_TEST_CASE(floats) { check_shapes<float>(); }
BOOST_AUTO_TEST_CASE(doubles) { check_shapes<double>(); }
/// The work is large enough for several threads, which share the first axis or the last one.
BOOST_AUTO_TEST_CASE(threads) {
  check_all<float, 40, 200, 30, 100>(3);
  check_all<float, 1, 200, 1200, 100>(3);
}
/// A sum beyond the largest number stays infinite, and does not become NaN.
BOOST_AUTO_TEST_CASE(infinite_sums) {
  const std::vector<float> x(100, 3e38F);
  const std::vector<std::int32_t> at(100, 0);
  std::vector<float> sums(100), sum(1, 0), lost(1);
  cairn::kernels::cumsum<false>({1, 100, 1}, x.data(), sums.data());
  BOOST_TEST(std::all_of(sums.begin() + 1, sums.end(), [](float y) { return y == infinity<float>; }));
  cairn::kernels::scatter_add_along({1, 1, 1}, at.data(), 100, x.data(), sum.data(), lost.data());
  BOOST_TEST(sum[0] == infinity<float>);
}
/// A million terms of 0.1 lose no digits.
BOOST_AUTO_TEST_CASE(long_sums) {
  constexpr int count = 1'000'000;
  const std::vector<float> x(count, 0.1F);
  const std::vector<std::int32_t> at(count, 0);
  std::vector<float> sums(count), sum(1, 0), lost(1);
  cairn::kernels::cumsum<true>({1, count, 1}, x.data(), sums.data());
  cairn::kernels::scatter_add_along({1, 1, 1}, at.data(), count, x.data(), sum.data(), lost.data());
  double off = 0;
  for (int i = 0; i < count; ++i)
    off = worse(off, std::abs(double{sums[static_cast<std::size_t>(i)]} / ((count - i) * double{0.1F}) - 1));
  BOOST_TEST(off <= 10 * epsilon<float>);
  BOOST_TEST(std::abs(double{sum[0]} / (count * double{0.1F}) - 1) <= epsilon<float>);
}

BOOST_AUTO_TEST_SUITE_END()
