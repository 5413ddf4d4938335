// Compares sums over axes, and permutations of axes, with plain loops.
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/transpose.hpp"

#include <array>
#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::detail::axis_set, cairn::shape;
using namespace kernel_check;

namespace {

// Neighbouring axes are merged. The merged axis has more elements than an extent can hold.
constexpr shape large{2, 1 << 16, 1 << 16};
static_assert(cairn::kernels::reduction_of<large, 0b110>.at[1].reduced == std::int64_t{1} << 32);
static_assert(cairn::kernels::reduction_of<large, 0b001>.at[0].remaining == std::int64_t{1} << 32);

template <class Real>
void check_sum_of(kernel_pointer sum, const shape& from, axis_set axes) {
  const auto in = numbers<Real>(from.count());
  const std::int64_t count = cairn::reduced(from, axes, false).count();
  std::vector<Real> expected(static_cast<std::size_t>(count));
  reference::reduce_sum(in.data(), expected.data(), from, axes);
  guarded<Real> out(count);
  sum({out.data(), in.data()}, 1);

  // The partial sums of n numbers below 1 are about sqrt(n), and there are at most n roundings.
  const double n = static_cast<double>(from.count() / count);
  const auto bound = [&](std::int64_t) { return n * std::sqrt(n) * epsilon<Real>; };
  BOOST_TEST_CONTEXT("extents " << from[0] << " " << from[1] << " ... of rank " << from.rank << ", axes " << axes) {
    BOOST_TEST(worst(out.data(), expected.data(), count, bound) <= 1);
    BOOST_TEST(out.intact());
  }
}
template <class Real, shape From, axis_set Axes>
void check_sum() {
  check_sum_of<Real>(&run_kernel<cairn::lang::sum_op<Axes, false>, Real, array<From>>, From, Axes);
}

template <class Real, class Extents>
void check_sums() {
  for_each(Extents{}, []<int Extent>() {
    check_sum<Real, shape{Extent}, 1>();
    check_sum<Real, shape{5, Extent}, 1>();
    check_sum<Real, shape{5, Extent}, 2>();
    check_sum<Real, shape{Extent, 7}, 1>();
    check_sum<Real, shape{Extent, 71}, 1>();
    check_sum<Real, shape{2, Extent, 3}, 2>();
    check_sum<Real, shape{3, Extent, 2}, 5>();
  });
  check_sum<Real, shape{}, 0>();
  check_sum<Real, shape{1, 1}, 3>();
  check_sum<Real, shape{4, 9}, 0>();
  check_sum<Real, shape{3, 4, 5}, 7>();
  check_sum<Real, shape{2, 3, 4, 5}, 3>();
  check_sum<Real, shape{2, 3, 4, 5}, 12>();
  check_sum<Real, shape{2, 3, 4, 5}, 9>();
  check_sum<Real, shape{2, 3, 2, 3, 2, 3}, 0b010101>();
  check_sum<Real, shape{2, 3, 2, 3, 2, 3}, 0b101010>();
  check_sum<Real, shape{2, 1, 3, 1, 17, 1}, 0b001011>();
}

template <class Real>
void check_transpose_of(kernel_pointer transpose, const shape& from, const int* order) {
  const auto in = numbers<Real>(from.count());
  auto expected = in;
  reference::transpose(in.data(), expected.data(), from, order);
  guarded<Real> out(from.count());
  transpose({out.data(), in.data()}, 1);
  BOOST_TEST_CONTEXT("extents " << from[0] << " " << from[1] << " ... of rank " << from.rank) {
    BOOST_TEST(worst(out.data(), expected.data(), from.count(), [](std::int64_t) { return 1; }) == 0);
    BOOST_TEST(out.intact());
  }
}
template <class Real, shape From, int... Order>
void check_transpose() {
  constexpr std::array<int, sizeof...(Order)> order{Order...};
  check_transpose_of<Real>(&run_kernel<cairn::lang::transpose_op<order>, Real, array<From>>, From, order.data());
}

template <class Real, class Extents>
void check_transposes() {
  for_each(Extents{}, []<int Extent>() {
    check_transpose<Real, shape{Extent, 101 - Extent}, 1, 0>();
    check_transpose<Real, shape{Extent, 17}, 1, 0>();
    check_transpose<Real, shape{2, Extent, 9}, 2, 0, 1>();
  });
  check_transpose<Real, shape{7, 9}, 0, 1>();
  check_transpose<Real, shape{1, 1}, 1, 0>();
  check_transpose<Real, shape{3, 4, 5}, 0, 2, 1>();
  check_transpose<Real, shape{3, 4, 5}, 1, 0, 2>();
  check_transpose<Real, shape{3, 4, 5}, 1, 2, 0>();
  check_transpose<Real, shape{3, 4, 5}, 2, 1, 0>();
  check_transpose<Real, shape{2, 5, 3, 8}, 0, 2, 1, 3>();
  check_transpose<Real, shape{2, 5, 3, 8}, 2, 3, 0, 1>();
  check_transpose<Real, shape{2, 5, 3, 8}, 3, 1, 2, 0>();
  check_transpose<Real, shape{2, 3, 1, 4, 3, 2}, 5, 3, 1, 4, 2, 0>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_reduce)

BOOST_AUTO_TEST_CASE(sums_in_float) { check_sums<float, awkward>(); }
BOOST_AUTO_TEST_CASE(sums_in_double) { check_sums<double, few>(); }
BOOST_AUTO_TEST_CASE(transposes_in_float) { check_transposes<float, awkward>(); }
BOOST_AUTO_TEST_CASE(transposes_in_double) { check_transposes<double, few>(); }

BOOST_AUTO_TEST_SUITE_END()
