// Matrix products against plain loops: awkward extents, all transposes, nothing written outside.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/reference.hpp"
#include "kernel_check.hpp"

using cairn::kernel::gemm, cairn::product;
using namespace kernel_check;

namespace {

// A sum of k products errs like a random walk of k roundings, each relative to the sum of magnitudes.
template <class Real, product P, bool Accumulate>
void check() {
  const auto a = numbers<Real>(std::int64_t{P.m} * P.k), b = numbers<Real>(std::int64_t{P.k} * P.n);
  const auto before = numbers<Real>(std::int64_t{P.m} * P.n);
  auto expected = before, magnitude = before, size_a = a, size_b = b;
  for (auto* values : {&magnitude, &size_a, &size_b})
    for (Real& x : *values) x = std::abs(x);
  const auto reference = [&](const auto& x, const auto& y, auto& z) {
    cairn::reference::matmul(x.data(), y.data(), z.data(), P.m, P.n, P.k, P.transpose_a, P.transpose_b,
                             Accumulate);
  };
  reference(a, b, expected);
  reference(size_a, size_b, magnitude);

  using kernel = gemm<Real, P, Accumulate>;
  static_assert(kernel::scratch * sizeof(Real) <= 1024 * 1024);
  guarded<Real> c(before), again(before), scratch(kernel::scratch);
  kernel::run(a.data(), b.data(), c.data(), scratch.data());
  kernel::run(a.data(), b.data(), again.data(), scratch.data());

  const auto bound = [&](std::int64_t i) {
    return (std::sqrt(P.k) + 1) * std::numeric_limits<Real>::epsilon() *
           double{magnitude[static_cast<std::size_t>(i)]};
  };
  BOOST_TEST_CONTEXT("m " << P.m << " n " << P.n << " k " << P.k << " transposes " << P.transpose_a
                          << P.transpose_b) {
    BOOST_TEST(worst(c.data(), expected.data(), std::ssize(expected), bound) <= 1);
    BOOST_TEST(worst(c.data(), again.data(), std::ssize(expected), bound) == 0);
    BOOST_TEST(c.intact());
    BOOST_TEST(scratch.intact());
  }
}

template <class Real, int M, int N, int K, bool Accumulate = false>
void check_straight() {
  check<Real, product{M, N, K, false, false}, Accumulate>();
  check<Real, product{M, N, K, true, true}, Accumulate>();
}
template <class Real, int M, int N, int K, bool Accumulate = false>
void check_crossed() {
  check<Real, product{M, N, K, false, true}, Accumulate>();
  check<Real, product{M, N, K, true, false}, Accumulate>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_gemm)

// Each awkward extent as rows, and others beside it as columns and depth.
BOOST_AUTO_TEST_CASE(awkward_extents) {
  for_each(awkward{}, []<int Extent>() {
    check_straight<double, Extent, 101 - Extent, Extent * 7 % 37 + 1>();
    check_crossed<float, Extent, 101 - Extent, Extent * 7 % 37 + 1>();
  });
}

// More rows and more depth than one block.
BOOST_AUTO_TEST_CASE(blocks) {
  check_straight<float, 901, 35, 601>();
  check_crossed<float, 901, 35, 601>();
  check_crossed<double, 405, 19, 301>();
  check_straight<float, 821, 97, 801>();
  check_crossed<float, 821, 97, 801>();
}

BOOST_AUTO_TEST_CASE(accumulation) {
  check_straight<float, 13, 37, 300, true>();
  check_crossed<float, 13, 37, 300, true>();
  check_straight<double, 13, 16, 31, true>();
}

BOOST_AUTO_TEST_SUITE_END()
