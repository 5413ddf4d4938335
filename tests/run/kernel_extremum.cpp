// Compares extrema over axes, and their positions, with plain loops.
#include "cairn/kernel/extremum.hpp"

#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::detail::axis_set, cairn::lang::extremum, cairn::shape;
using namespace kernel_check;

namespace {

/// Few different numbers, so that some are equal. If `any_nan` is true, some are NaN.
template <class Real>
std::vector<Real> with_ties(std::int64_t n, bool any_nan) {
  auto values = numbers<Real>(n, 3);
  for (Real& x : values) x = std::round(x) - 10;
  if (any_nan)
    for (std::size_t i = 5; i < values.size(); i += 7 * values.size() / 20 + 1) values[i] = no_number<Real>;
  return values;
}

/// Returns true if the numbers are equal. NaN counts as equal to NaN.
template <class Real>
bool same(const Real* a, const std::vector<Real>& b) {
  return std::equal(b.begin(), b.end(), a, [](Real x, Real y) { return x == y || (x != x && y != y); });
}

using threads_tried = std::initializer_list<int>;

template <class Real, class Result>
void check_result(kernel_pointer kernel, const std::vector<Real>& in, const std::vector<Result>& expected, shape from,
                  int axis, threads_tried each) {
  for (const int threads : each) {
    guarded<Result> out(std::ssize(expected));
    kernel({out.data(), in.data()}, threads);
    BOOST_TEST_CONTEXT("extents " << from[0] << " " << from[1] << " ... of rank " << from.rank << ", axis or axes "
                                  << axis << ", threads " << threads) {
      BOOST_TEST(same(out.data(), expected));
      BOOST_TEST(out.intact());
    }
  }
}
template <class Real>
void check_extremum(kernel_pointer kernel, const std::vector<Real>& in, shape from, axis_set axes, bool largest,
                    threads_tried each = {1}) {
  std::vector<Real> expected(static_cast<std::size_t>(cairn::reduced(from, axes, false).count()));
  reference::extremum(in.data(), expected.data(), from, axes, largest);
  check_result(kernel, in, expected, from, static_cast<int>(axes), each);
}
template <class Real>
void check_position(kernel_pointer kernel, const std::vector<Real>& in, shape from, int axis, bool largest,
                    threads_tried each = {1}) {
  std::vector<std::int32_t> expected(static_cast<std::size_t>(from.count() / from[axis]));
  reference::position(in.data(), expected.data(), from, axis, largest);
  check_result(kernel, in, expected, from, axis, each);
}

template <cairn::lang::extremum Which, class Real, shape From, axis_set Axes>
constexpr kernel_pointer over = &run_kernel<cairn::lang::extremum_op<Which, Axes, false>, Real, array<From>>;
template <cairn::lang::extremum Which, class Real, shape From, int Axis>
constexpr kernel_pointer along = &run_kernel<cairn::lang::position_op<Which, Axis, false>, Real, array<From>>;

template <class Real, shape From, axis_set Axes>
void check_extrema(threads_tried each = {1}) {
  for (const bool any_nan : {false, true}) {
    const auto in = with_ties<Real>(From.count(), any_nan);
    check_extremum(over<cairn::lang::extremum::largest, Real, From, Axes>, in, From, Axes, true, each);
    check_extremum(over<cairn::lang::extremum::smallest, Real, From, Axes>, in, From, Axes, false, each);
  }
}
template <class Real, shape From, int Axis>
void check_along(threads_tried each = {1}) {
  for (const bool any_nan : {false, true}) {
    const auto in = with_ties<Real>(From.count(), any_nan);
    check_position(along<cairn::lang::extremum::largest, Real, From, Axis>, in, From, Axis, true, each);
    check_position(along<cairn::lang::extremum::smallest, Real, From, Axis>, in, From, Axis, false, each);
  }
}

template <class Real, class Extents>
void check_all() {
  for_each(Extents{}, []<int Extent>() {
    check_extrema<Real, shape{Extent}, 1>();
    check_extrema<Real, shape{5, Extent}, 1>();
    check_extrema<Real, shape{5, Extent}, 2>();
    check_extrema<Real, shape{3, Extent, 2}, 5>();
    check_along<Real, shape{Extent}, 0>();
    check_along<Real, shape{5, Extent}, 0>();
    check_along<Real, shape{5, Extent}, 1>();
    check_along<Real, shape{2, Extent, 3}, 1>();
  });
  check_extrema<Real, shape{}, 0>();
  check_extrema<Real, shape{4, 9}, 0>();
  check_extrema<Real, shape{2, 3, 2, 3, 2, 3}, 0b010101>();
  check_extrema<Real, shape{2, 3, 2, 3, 2, 3}, 0b101010>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_extremum)

BOOST_AUTO_TEST_CASE(in_float) { check_all<float, awkward>(); }
BOOST_AUTO_TEST_CASE(in_double) { check_all<double, few>(); }

// There is enough work for three threads. They share rows, columns, or sections of one row.
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  check_extrema<float, shape{1009, 503}, 1>({1, 2, 3, 5});
  check_extrema<float, shape{1009, 503}, 2>({1, 2, 3, 5});
  check_extrema<float, shape{1009, 503}, 3>({1, 2, 3, 5});
  check_along<float, shape{1009, 503}, 0>({1, 2, 3, 5});
  check_along<float, shape{1009, 503}, 1>({1, 2, 3, 5});
}

// The numbers are not above the number from which the comparison starts.
BOOST_AUTO_TEST_CASE(infinite_numbers) {
  constexpr shape five{5};
  const std::vector<float> low(5, -infinity<float>), high(5, infinity<float>);
  check_extremum(over<cairn::lang::extremum::largest, float, five, 1>, low, five, 1, true);
  check_extremum(over<cairn::lang::extremum::smallest, float, five, 1>, high, five, 1, false);
  check_position(along<cairn::lang::extremum::largest, float, five, 0>, low, five, 0, true);
  check_position(along<cairn::lang::extremum::smallest, float, five, 0>, high, five, 0, false);
}

BOOST_AUTO_TEST_SUITE_END()
