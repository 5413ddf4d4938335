// Matrix products against plain loops: awkward extents, all transposes, rows that lie apart, code that is shared and
// code of their own; nothing is written outside.
#include <boost/test/unit_test.hpp>

#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/reference.hpp"
#include "kernel_check.hpp"

using cairn::product;
using namespace kernel_check;

namespace {

/// The same numbers as rows of `length`, some more apart, and others between them.
template <class Real>
std::vector<Real> spread(const std::vector<Real>& in, int length, int apart) {
  const std::size_t rows = in.size() / static_cast<std::size_t>(length);
  auto out = numbers<Real>(static_cast<std::int64_t>(rows) * (length + apart));
  for (std::size_t i = 0; i < in.size(); ++i) out[i + i / static_cast<std::size_t>(length) * static_cast<std::size_t>(apart)] = in[i];
  return out;
}

// A sum of k products errs like a random walk of k roundings, each relative to the sum of magnitudes.
template <class Real, product P>
void check() {
  const auto a = numbers<Real>(std::int64_t{P.m} * P.k), b = numbers<Real>(std::int64_t{P.k} * P.n);
  auto expected = numbers<Real>(std::int64_t{P.m} * P.n), magnitude = expected, size_a = a, size_b = b;
  for (auto* values : {&size_a, &size_b})
    for (Real& x : *values) x = std::abs(x);
  const auto reference = [&](const auto& x, const auto& y, auto& z) {
    cairn::reference::matmul(x.data(), y.data(), z.data(), P.m, P.n, P.k, P.transpose_a, P.transpose_b);
  };
  reference(a, b, expected);
  reference(size_a, size_b, magnitude);

  const auto bound = [&](std::int64_t i) {
    return (std::sqrt(P.k) + 1) * epsilon<Real> * double{magnitude[static_cast<std::size_t>(i)]};
  };
  const auto equal = [&](guarded<Real>& x, guarded<Real>& y) { return std::equal(x.data(), x.data() + expected.size(), y.data()); };
  constexpr const auto& shared = cairn::kernel::shared_plan_of<Real, P>;
  constexpr std::int64_t working = shared.cut.scratch.numbers(1);
  static_assert(working * sizeof(Real) <= 1024 * 1024);
  const int length_a = P.transpose_a ? P.m : P.k, length_b = P.transpose_b ? P.k : P.n;
  const auto apart_a = spread(a, length_a, 5), apart_b = spread(b, length_b, 3);
  const std::int64_t size = std::ssize(expected);
  guarded<Real> c(size), of_parts(size), own(size), scratch(working);
  using cairn::kernel::multiplication;
  multiplication(shared, a.data(), b.data(), c.data()).run(scratch.data());
  multiplication(shared, apart_a.data(), apart_b.data(), of_parts.data(), nullptr, length_a + 5, length_b + 3)
      .run(scratch.data());
  constexpr const auto& plan = cairn::kernel::plan_of<Real, P>;
  constexpr bool has_own = !std::is_same_v<decltype(plan), decltype(shared)>;
  if constexpr (has_own) multiplication(plan, a.data(), b.data(), own.data()).run(scratch.data());
  BOOST_TEST_CONTEXT("m " << P.m << " n " << P.n << " k " << P.k << " transposes " << P.transpose_a
                          << P.transpose_b) {
    BOOST_TEST(worst(c.data(), expected.data(), size, bound) <= 1);
    BOOST_TEST(equal(c, of_parts));
    if (has_own) BOOST_TEST(equal(c, own));
    for (const auto* buffer : {&c, &of_parts, &own, &scratch}) BOOST_TEST(buffer->intact());
  }
}

template <class Real, int M, int N, int K>
void check_straight() {
  check<Real, product{M, N, K, false, false}>();
  check<Real, product{M, N, K, true, true}>();
}
template <class Real, int M, int N, int K>
void check_crossed() {
  check<Real, product{M, N, K, false, true}>();
  check<Real, product{M, N, K, true, false}>();
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

// More rows than one block, and two blocks of depth or three; and results so large that they leave the nearer caches.
BOOST_AUTO_TEST_CASE(blocks) {
  check_straight<float, 901, 35, 601>();
  check_crossed<float, 901, 35, 601>();
  check_crossed<double, 405, 19, 301>();
  check_straight<float, 61, 35, 769>();
  check_crossed<float, 61, 35, 769>();
  check_straight<float, 785, 67, 385>();
  check_crossed<float, 785, 67, 385>();
}

BOOST_AUTO_TEST_SUITE_END()
