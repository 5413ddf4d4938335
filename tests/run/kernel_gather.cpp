// Compares gathers and scatter-adds with plain loops.
#include "cairn/kernel/as_indices.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/placed.hpp"

#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::shape;
using namespace kernel_check;

namespace {

// Some positions occur several times, and some do not occur.
template <class Real>
void check_kernels(kernel_pointer gather, kernel_pointer scatter_add, kernel_pointer scatter_add_onto, shape table,
                   int count, int threads) {
  const std::int64_t parts = table.count() / table[1] * count;
  const auto in = numbers<Real>(table.count()), laid = numbers<Real>(parts);
  const auto at = labels(count, table[1]);
  std::vector<Real> expected(laid.size()), sums(in.size());
  reference::gather(in.data(), at.data(), expected.data(), table, count);
  reference::scatter_add(laid.data(), at.data(), sums.data(), table, count);
  guarded<Real> out(parts), got_sums(table.count()), both(table.count()), in_place(table.count());
  guarded<std::int32_t> sorted(count + std::min(count, table[1]));
  gather({out.data(), in.data(), at.data()}, threads);
  scatter_add({got_sums.data(), laid.data(), at.data(), sorted.data()}, threads);
  scatter_add_onto({both.data(), in.data(), laid.data(), at.data(), sorted.data()}, threads);
  std::copy(in.begin(), in.end(), in_place.data());
  scatter_add_onto({in_place.data(), in_place.data(), laid.data(), at.data(), sorted.data()}, threads);
  bool equal = true;
  for (std::size_t i = 0; i < in.size(); ++i)
    equal &= both.data()[i] == in[i] + got_sums.data()[i] && both.data()[i] == in_place.data()[i];

  // The partial sums of `count` numbers below 1 are about the square root of `count`, and there are `count` roundings.
  const double roundings = std::sqrt(count) * count * epsilon<Real>;
  BOOST_TEST_CONTEXT("extents " << table[0] << " " << table[1] << " " << table[2] << ", " << count
                                << " indices, threads " << threads) {
    BOOST_TEST(worst(out.data(), expected.data(), parts, [](std::int64_t) { return 1; }) == 0);
    BOOST_TEST(worst(got_sums.data(), sums.data(), table.count(), [&](std::int64_t) { return roundings; }) <= 1);
    BOOST_TEST(out.intact());
    BOOST_TEST(equal);
    BOOST_TEST((got_sums.intact() && both.intact() && in_place.intact()));
    BOOST_TEST(sorted.intact());
  }
}
template <class Real, int Outer, int Extent, int Inner, int Count>
void check_gather(int threads = 1) {
  using table = array<shape{Outer, Extent, Inner}>;
  using part = array<shape{Outer, Count, Inner}>;
  using positions = array<shape{Count}, cairn::index_below(Extent)>;
  constexpr kernel_pointer gather = &run_kernel<cairn::lang::gather_op<1>, Real, table, positions>;
  constexpr kernel_pointer scatter_add = &run_kernel<cairn::lang::scatter_add_op<1, Extent>, Real, part, positions>;
  constexpr kernel_pointer scatter_add_onto =
      &run_kernel<cairn::lang::scatter_add_onto_op<1, Extent, -1>, Real, table, part, positions>;
  check_kernels<Real>(gather, scatter_add, scatter_add_onto, table::shape, Count, threads);
}

template <class Real, class Extents>
void check_gathers() {
  for_each(Extents{}, []<int Extent>() {
    check_gather<Real, 1, 5, Extent, 7>();
    check_gather<Real, 3, 4, Extent, 6>();
    check_gather<Real, 2, Extent, 3, 9>();
    check_gather<Real, 2, Extent, 1, 9>();
    check_gather<Real, 1, 7, 2, Extent>();
  });
  check_gather<Real, 1, 1, 1, 1>();
  check_gather<Real, 2, 3, 2500, 200>();  // long rows, and several sections of indices for a row
}

/// Returns the sums as this number of threads computes them.
template <class Real, int Outer, int Extent, int Inner, int Count>
std::vector<Real> sums_by(int threads) {
  const auto at = labels(Count, Extent);
  std::vector<Real> in(Outer * Count * Inner), out(Outer * Extent * Inner);
  std::vector<std::int32_t> sorted(Count + std::min(Count, Extent));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<Real>(1) / static_cast<Real>(i % 1013 + 1);
  run_kernel<cairn::lang::scatter_add_op<1, Extent>, Real, array<shape{Outer, Count, Inner}>,
             array<shape{Count}, cairn::index_below(Extent)>>({out.data(), in.data(), at.data(), sorted.data()},
                                                              threads);
  return out;
}

/// Sums of bf16 in float equal the sums of the same numbers as floats, bit for bit. This also holds if the last
/// register of a row is not full, and with several threads.
template <int Outer, int Extent, int Inner, int Count>
void check_sums_of_bf16(int threads = 1) {
  const auto at = labels(Count, Extent);
  const cairn::kernels::positions<std::int32_t> to{{Outer, Extent, Inner}, at.data(), Count};
  std::vector<cairn::bf16> laid;
  for (const float x : numbers<float>(Outer * Count * Inner)) laid.emplace_back(x);
  const std::vector<float> as_floats(laid.begin(), laid.end());
  guarded<float> sums(Outer * Extent * Inner), expected(Outer * Extent * Inner);
  std::vector<std::int32_t> sorted(Count + std::min(Count, Extent));
  cairn::kernels::scatter_add(to, laid.data(), sums.data(), sorted.data(), threads);
  cairn::kernels::scatter_add(to, as_floats.data(), expected.data(), sorted.data());
  BOOST_TEST(std::equal(expected.data(), expected.data() + Outer * Extent * Inner, sums.data()));
  BOOST_TEST(sums.intact());
}

template <class Real>
void check_ones(kernel_pointer one_hot, int count, int bound, int threads) {
  const auto at = labels(count, bound);
  guarded<Real> out(count * bound);
  one_hot({out.data(), at.data()}, threads);
  bool right = true;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < bound; ++k) right &= out.data()[i * bound + k] == (k == at[static_cast<std::size_t>(i)]);
  BOOST_TEST(right);
  BOOST_TEST(out.intact());
}
template <class Real, int Bound>
void check_one_hot(int threads = 1) {
  constexpr int count = Bound < 1000 ? 21 : 200;
  using positions = array<shape{count}, cairn::index_below(Bound)>;
  check_ones<Real>(&run_kernel<cairn::lang::one_hot_op, Real, positions>, count, Bound, threads);
}

/// Rows are placed at the first and at the last position, in a new table and in place. They are then read back.
template <class Real, int Outer, int Extent, int Inner, int Rows>
void check_placed() {
  using table = array<shape{Outer, Extent, Inner}>;
  using part = array<shape{Outer, Rows, Inner}>;
  using position = array<shape{1}, cairn::index_below(Extent - Rows + 1)>;
  const auto from = numbers<Real>(table::shape.count()), rows = numbers<Real>(part::shape.count());
  for (const std::int32_t at : {0, Extent - Rows}) {
    std::vector<Real> expected(from.size());
    reference::placed(from.data(), at, rows.data(), expected.data(), table::shape, Rows);
    guarded<Real> out(table::shape.count()), over(table::shape.count()), found(part::shape.count());
    std::copy(from.begin(), from.end(), over.data());
    run_kernel<cairn::lang::placed_op<1>, Real, table, position, part>({out.data(), from.data(), &at, rows.data()});
    run_kernel<cairn::lang::placed_op<1>, Real, table, position, part>({over.data(), over.data(), &at, rows.data()});
    run_kernel<cairn::lang::rows_at_op<-2, Rows>, Real, table, position>({found.data(), expected.data(), &at});
    BOOST_TEST(std::equal(expected.begin(), expected.end(), out.data()));
    BOOST_TEST(std::equal(expected.begin(), expected.end(), over.data()));
    BOOST_TEST(std::equal(rows.begin(), rows.end(), found.data()));
    BOOST_TEST((out.intact() && over.intact() && found.intact()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_gather)

BOOST_AUTO_TEST_CASE(rows_placed_in_a_table) {
  for_each(few{}, []<int Inner>() {
    check_placed<float, 1, 5, Inner, 1>();
    check_placed<double, 3, 4, Inner, 3>();
    check_placed<float, 2, 3, Inner, 3>();
  });
}

BOOST_AUTO_TEST_CASE(gathers_in_float) { check_gathers<float, awkward>(); }
BOOST_AUTO_TEST_CASE(gathers_in_double) { check_gathers<double, few>(); }
BOOST_AUTO_TEST_CASE(sums_of_bf16_in_float) {
  for_each(awkward{}, []<int Inner>() { check_sums_of_bf16<2, 5, Inner, 9>(); });
  check_sums_of_bf16<1, 5, 100, 300>(3);
  check_sums_of_bf16<1, 300, 33, 200>(3);
}
BOOST_AUTO_TEST_CASE(one_hot_rows) {
  for_each(awkward{}, []<int Bound>() { check_one_hot<float, Bound>(); });
  for_each(few{}, []<int Bound>() { check_one_hot<double, Bound>(); });
}

// Indices are moved without a change, and may be stored in bytes.
BOOST_AUTO_TEST_CASE(gathers_of_indices) {
  constexpr cairn::element_type bytes{cairn::dtype::u8, 5};
  const std::int32_t table[]{7, 0, 100000, 3, 9};
  const std::uint8_t at[]{4, 4, 0, 2};
  std::int32_t out[4]{}, laid[5]{};
  run_kernel<cairn::lang::gather_op<0>, float, array<shape{5}, cairn::index_below(100001)>, array<shape{4}, bytes>>(
      {out, table, at});
  const std::int32_t expected[]{9, 9, 7, 100000};
  BOOST_TEST(out == expected, boost::test_tools::per_element());
  const std::uint8_t first[]{1};
  const std::int32_t rows[]{8, 6};
  run_kernel<cairn::lang::placed_op<0>, double, array<shape{5}, cairn::index_below(100001)>,
             array<shape{1}, cairn::element_type{cairn::dtype::u8, 4}>, array<shape{2}, cairn::index_below(9)>>(
      {laid, table, first, rows});
  const std::int32_t expected_laid[]{7, 8, 6, 3, 9};
  BOOST_TEST(laid == expected_laid, boost::test_tools::per_element());
}

// Whole numbers below the bound become indices. The error names the first number that is no index.
template <class Real, int Extent>
void check_as_indices(int threads = 1) {
  constexpr int bound = 50;
  const auto at = labels(Extent, bound);
  std::vector<Real> in(at.begin(), at.end());
  in[0] = -Real{0};
  guarded<std::int32_t> out(Extent);
  const auto run = [&] {
    run_kernel<cairn::lang::as_indices_op<bound>, Real, array<shape{Extent}>>({out.data(), in.data()}, threads);
  };
  run();
  BOOST_TEST(std::equal(at.begin() + 1, at.end(), out.data() + 1));
  BOOST_TEST(out.data()[0] == 0);
  BOOST_TEST(out.intact());
  const Real most = std::numeric_limits<Real>::max(), least = std::numeric_limits<Real>::denorm_min();
  for (const Real wrong : {Real{-1}, Real{bound}, Real{2.5}, least, -least, Real{5e9}, most, -most, infinity<Real>,
                           -infinity<Real>, no_number<Real>}) {
    in[Extent - 1] = wrong;
    const std::string place = "cairn: as_indices: number " + std::to_string(Extent - 1) + " is ";
    BOOST_CHECK_EXCEPTION(run(), std::out_of_range, [&](const std::out_of_range& e) {
      const std::string_view text = e.what();
      return text.starts_with(place) && text.ends_with(", expected a whole number from 0 to 49");
    });
  }
}
BOOST_AUTO_TEST_CASE(numbers_as_indices) {
  for_each(awkward{}, []<int Extent>() {
    check_as_indices<float, Extent>();
    check_as_indices<double, Extent>();
  });
  check_as_indices<float, 100000>(3);
}

// Rows at the position for padding are left out. Most rows of a large table get nothing.
template <int Extent>
void check_padding(int threads) {
  constexpr int count = 40, inner = 33, padding = 3;
  using positions = array<shape{count}, cairn::index_below(Extent)>;
  auto laid = numbers<float>(count * inner);
  const auto at = labels(count, Extent);
  guarded<float> sums(Extent * inner);
  guarded<std::int32_t> sorted(count + std::min(count, Extent));
  run_kernel<cairn::lang::scatter_add_op<0, Extent, padding>, float, array<shape{count, inner}>, positions>(
      {sums.data(), laid.data(), at.data(), sorted.data()}, threads);
  for (std::size_t i = 0; i < count; ++i)
    if (at[i] == padding) std::fill_n(laid.begin() + static_cast<std::ptrdiff_t>(i) * inner, inner, 0.F);
  std::vector<float> expected(static_cast<std::size_t>(Extent * inner));
  reference::scatter_add(laid.data(), at.data(), expected.data(), shape{1, Extent, inner}, count);
  const double roundings = std::sqrt(count) * count * epsilon<float>;
  BOOST_TEST(std::ranges::count(at, padding) > 0);
  BOOST_TEST(worst(sums.data(), expected.data(), Extent * inner, [&](auto) { return roundings; }) <= 1);
  BOOST_TEST(sums.intact());
  BOOST_TEST(sorted.intact());
}
BOOST_AUTO_TEST_CASE(rows_at_the_padding_position_are_left_out) {
  check_padding<7>(1);
  check_padding<1000>(1);
  check_padding<90000>(3);
}

// There is enough work for three threads. They share the columns, or the axes outside of the indexed axis.
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  for (const int threads : {2, 3, 5}) {
    check_gather<float, 1, 50, 331, 900>(threads);
    check_gather<float, 31, 50, 11, 900>(threads);
    check_gather<double, 1, 700, 331, 90>(threads);
    check_one_hot<float, 3001>(threads);
  }
}
BOOST_AUTO_TEST_CASE(sums_do_not_depend_on_threads) {
  const auto columns = sums_by<float, 1, 50, 331, 900>(1);
  const auto outside = sums_by<float, 31, 50, 11, 900>(1);
  for (const int threads : {2, 3, 5}) {
    BOOST_TEST((sums_by<float, 1, 50, 331, 900>(threads) == columns));
    BOOST_TEST((sums_by<float, 31, 50, 11, 900>(threads) == outside));
  }
}

BOOST_AUTO_TEST_SUITE_END()
