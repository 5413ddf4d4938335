// Compares concatenations along an axis with plain loops.
#include "cairn/kernel/concatenate.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::shape;
using namespace kernel_check;

namespace {

template <class Real>
void check_copied(guarded<Real>& out, const std::vector<Real>& expected) {
  BOOST_TEST(worst(out.data(), expected.data(), std::ssize(expected), [](std::int64_t) { return 1; }) == 0);
  BOOST_TEST(out.intact());
}

constexpr shape along(shape s, int axis, int extent) {
  s.extent[axis] = extent;
  return s;
}

/// Concatenates tensors that have the shape `of` except for their extents along the axis.
template <class Real>
void check_concatenate_of(kernel_pointer concatenate, const shape& of, int axis, std::initializer_list<int> extents,
                          int threads) {
  std::vector<std::vector<Real>> in;
  for (const int extent : extents) in.push_back(numbers<Real>(along(of, axis, extent).count()));
  const shape to = along(of, axis, std::accumulate(extents.begin(), extents.end(), 0));
  std::vector<Real> expected(static_cast<std::size_t>(to.count()));
  guarded<Real> out(to.count());
  std::vector<const void*> operands{out.data()};
  int begin = 0;
  for (std::size_t k = 0; const int extent : extents) {
    operands.push_back(in[k].data());
    reference::copy_part(in[k].data(), along(of, axis, extent), 0, expected.data(), to, begin, axis, extent);
    begin += extent;
    ++k;
  }
  concatenate(operands, threads);
  BOOST_TEST_CONTEXT("to extents " << to[0] << " " << to[1] << " ... of rank " << to.rank << ", axis " << axis) {
    check_copied(out, expected);
  }
}
template <class Real, shape S, int Axis, int... Extents>
void check_concatenate(int threads = 1) {
  check_concatenate_of<Real>(&run_kernel<cairn::lang::concatenate_op<Axis>, Real, array<along(S, Axis, Extents)>...>, S,
                             Axis, {Extents...}, threads);
}

template <class Real, class Extents>
void check_concatenates() {
  for_each(Extents{}, []<int Extent>() {
    check_concatenate<Real, shape{1}, 0, Extent, 3>();
    check_concatenate<Real, shape{1, 5}, 0, 2, Extent, 1>();
    check_concatenate<Real, shape{7, 1}, 1, Extent, 9>();
    check_concatenate<Real, shape{7, 1}, 1, 1, Extent, 2, 17>();
    check_concatenate<Real, shape{3, 1, Extent}, 1, 2, 5>();
    check_concatenate<Real, shape{2, 1, 3}, 1, 4, Extent, 1>();
  });
  check_concatenate<Real, shape{1, 1, 1}, 2, 1, 1>();
  check_concatenate<Real, shape{1, 4, 1}, 1, 3, 3>();
  check_concatenate<Real, shape{2, 3, 1, 3, 2, 3}, 2, 3, 1, 2>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_concatenate)

BOOST_AUTO_TEST_CASE(concatenates_in_float) { check_concatenates<float, awkward>(); }
BOOST_AUTO_TEST_CASE(concatenates_in_double) { check_concatenates<double, few>(); }

// There is enough work for three threads. They share many rows, or one row.
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  for (const int threads : {2, 3, 64}) {
    check_concatenate<float, shape{1001, 1}, 1, 100, 61, 7>(threads);
    check_concatenate<float, shape{1, 1009}, 0, 100, 61, 7>(threads);
  }
}

BOOST_AUTO_TEST_SUITE_END()
