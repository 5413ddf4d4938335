// Tensors joined along an axis, and parts cut out of them, against plain loops.
#include "cairn/kernel/join.hpp"
#include "cairn/kernel/reference.hpp"

#include <array>
#include <boost/test/unit_test.hpp>

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

/// Tensors {S} but for their extents along an axis.
template <class Real, shape S, int Axis, int... Extents>
void check_concatenate(int threads = 1) {
  constexpr shape to = along(S, Axis, (Extents + ...));
  const std::array in{numbers<Real>(along(S, Axis, Extents).count())...};
  std::vector<Real> expected(static_cast<std::size_t>(to.count()));
  std::array<const Real*, sizeof...(Extents)> at;
  int begin = 0;
  for (std::size_t k = 0; const int extent : {Extents...}) {
    at[k] = in[k].data();
    cairn::reference::copy_part(at[k], along(S, Axis, extent), 0, expected.data(), to, begin, Axis, extent);
    begin += extent;
    ++k;
  }
  guarded<Real> out(to.count());
  cairn::kernel::concatenate<Real, Axis, along(S, Axis, Extents)...>(at, out.data(), threads);
  BOOST_TEST_CONTEXT("to extents " << to[0] << " " << to[1] << " ... of rank " << to.rank << ", axis " << Axis) {
    check_copied(out, expected);
  }
}

/// Elements [Begin, End) of {Whole} along an axis: cut out, and put back between zeros.
template <class Real, shape Whole, int Axis, int Begin, int End>
void check_slice(int threads = 1) {
  constexpr shape part = along(Whole, Axis, End - Begin);
  const auto in = numbers<Real>(Whole.count());
  std::vector<Real> expected(static_cast<std::size_t>(part.count()));
  cairn::reference::copy_part(in.data(), Whole, Begin, expected.data(), part, 0, Axis, End - Begin);
  std::vector<Real> expected_back(in.size());
  cairn::reference::copy_part(expected.data(), part, 0, expected_back.data(), Whole, Begin, Axis, End - Begin);
  guarded<Real> out(part.count()), back(Whole.count());
  cairn::kernel::slice<Real, Whole, Axis, Begin, End>(in.data(), out.data(), threads);
  cairn::kernel::pad<Real, part, Axis, Begin, Whole[Axis]>(expected.data(), back.data(), threads);
  BOOST_TEST_CONTEXT("extents " << Whole[0] << " " << Whole[1] << " ... of rank " << Whole.rank << ", axis " << Axis
                                << " from " << Begin << " to " << End) {
    check_copied(out, expected);
    check_copied(back, expected_back);
  }
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

template <class Real, class Extents>
void check_slices() {
  for_each(Extents{}, []<int Extent>() {
    check_slice<Real, shape{Extent}, 0, 0, Extent>();
    check_slice<Real, shape{Extent + 2, 5}, 0, 1, Extent + 1>();
    check_slice<Real, shape{7, Extent}, 1, 0, (Extent + 1) / 2>();
    check_slice<Real, shape{7, Extent}, 1, Extent / 2, Extent>();
    check_slice<Real, shape{3, 5, Extent}, 1, 2, 4>();
    check_slice<Real, shape{2, Extent + 3, 3}, 1, 3, 3 + Extent>();
  });
  check_slice<Real, shape{1, 1}, 1, 0, 1>();
  check_slice<Real, shape{1, 9}, 1, 8, 9>();
  check_slice<Real, shape{2, 3, 4, 3, 2, 3}, 2, 1, 3>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_join)

BOOST_AUTO_TEST_CASE(concatenates_in_float) { check_concatenates<float, awkward>(); }
BOOST_AUTO_TEST_CASE(concatenates_in_double) { check_concatenates<double, few>(); }
BOOST_AUTO_TEST_CASE(slices_in_float) { check_slices<float, awkward>(); }
BOOST_AUTO_TEST_CASE(slices_in_double) { check_slices<double, few>(); }

// Enough for three threads, which share rows, or one row.
BOOST_AUTO_TEST_CASE(in_parts) {
  for (const int threads : {2, 3, 64}) {
    check_concatenate<float, shape{1001, 1}, 1, 100, 61, 7>(threads);
    check_concatenate<float, shape{1, 1009}, 0, 100, 61, 7>(threads);
    check_slice<float, shape{1001, 409}, 1, 101, 300>(threads);
    check_slice<float, shape{409, 1001}, 0, 101, 300>(threads);
  }
}

BOOST_AUTO_TEST_SUITE_END()
