// Compares matrix products with plain loops. The tests use awkward extents, all transposes, rows with gaps between
// them, shared code, and code that is specialized for one shape. Nothing may be written outside of the result.
#include "cairn/kernel/gemm.hpp"

#include <boost/test/unit_test.hpp>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::costs::product;
using namespace kernel_check;

namespace {

/// Returns the same numbers as rows of `length` numbers. Between two rows there are `apart` other numbers.
template <class Real>
std::vector<Real> spread(const std::vector<Real>& in, int length, int apart) {
  const std::size_t rows = in.size() / static_cast<std::size_t>(length);
  auto out = numbers<Real>(static_cast<std::int64_t>(rows) * (length + apart));
  for (std::size_t i = 0; i < in.size(); ++i)
    out[i + i / static_cast<std::size_t>(length) * static_cast<std::size_t>(apart)] = in[i];
  return out;
}

/// A product by shared code, and by specialized code if there is any. `apart_a` and `apart_b` are the distances between
/// rows. 0 means that the rows have no gaps.
template <class Real>
struct ways {
  using run_pointer = void (*)(const Real* a, const Real* b, Real* c, Real* scratch, int apart_a, int apart_b);
  run_pointer shared, own;
};

// The error of a sum of k products grows like a random walk with k roundings. Each rounding error is relative to the
// sum of magnitudes.
template <class Real>
void check(const product& p, const ways<Real>& run, std::int64_t working) {
  const auto a = numbers<Real>(std::int64_t{p.m} * p.k), b = numbers<Real>(std::int64_t{p.k} * p.n);
  auto expected = numbers<Real>(std::int64_t{p.m} * p.n), magnitude = expected, size_a = a, size_b = b;
  for (auto* values : {&size_a, &size_b})
    for (Real& x : *values) x = std::abs(x);
  const auto reference = [&](const auto& x, const auto& y, auto& z) {
    reference::matmul(x.data(), y.data(), z.data(), p.m, p.n, p.k, p.transpose_a, p.transpose_b);
  };
  reference(a, b, expected);
  reference(size_a, size_b, magnitude);

  const auto bound = [&](std::int64_t i) {
    return (std::sqrt(p.k) + 1) * epsilon<Real> * double{magnitude[static_cast<std::size_t>(i)]};
  };
  const std::int64_t size = std::ssize(expected);
  const auto equal = [size](guarded<Real>& x, guarded<Real>& y) {
    return std::equal(x.data(), x.data() + size, y.data());
  };
  const int length_a = p.transpose_a ? p.m : p.k, length_b = p.transpose_b ? p.k : p.n;
  const auto apart_a = spread(a, length_a, 5), apart_b = spread(b, length_b, 3);
  guarded<Real> c(size), of_parts(size), own(size), scratch(working);
  run.shared(a.data(), b.data(), c.data(), scratch.data(), 0, 0);
  run.shared(apart_a.data(), apart_b.data(), of_parts.data(), scratch.data(), length_a + 5, length_b + 3);
  if (run.own != nullptr) run.own(a.data(), b.data(), own.data(), scratch.data(), 0, 0);
  BOOST_TEST_CONTEXT("m " << p.m << " n " << p.n << " k " << p.k << " transposes " << p.transpose_a << p.transpose_b) {
    BOOST_TEST(worst(c.data(), expected.data(), size, bound) <= 1);
    BOOST_TEST(equal(c, of_parts));
    if (run.own != nullptr) BOOST_TEST(equal(c, own));
    for (const auto* buffer : {&c, &of_parts, &own, &scratch}) BOOST_TEST(buffer->intact());
  }
}

template <class Real, const auto& Plan>
void run_plan(const Real* a, const Real* b, Real* c, Real* scratch, int apart_a, int apart_b) {
  cairn::kernels::multiplication(Plan, a, b, c, nullptr, apart_a, apart_b).run(scratch);
}
template <class Real, product P>
void check_product() {
  constexpr const auto& shared = cairn::kernels::shared_plan_of<Real, P>;
  constexpr const auto& plan = cairn::kernels::plan_of<Real, P>;
  constexpr std::int64_t working = shared.cut.needed_workspace.numbers(1);
  static_assert(working * sizeof(Real) <= 1024 * 1024);
  ways<Real> run{&run_plan<Real, shared>, nullptr};
  if constexpr (!std::is_same_v<decltype(plan), decltype(shared)>) run.own = &run_plan<Real, plan>;
  check(P, run, working);
}

template <class Real, int M, int N, int K>
void check_straight() {
  check_product<Real, product{M, N, K, false, false}>();
  check_product<Real, product{M, N, K, true, true}>();
}
template <class Real, int M, int N, int K>
void check_crossed() {
  check_product<Real, product{M, N, K, false, true}>();
  check_product<Real, product{M, N, K, true, false}>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_gemm)

// Each awkward extent occurs as the number of rows. Columns and depth have other extents.
BOOST_AUTO_TEST_CASE(awkward_extents) {
  for_each(awkward{}, []<int Extent>() {
    check_straight<double, Extent, 101 - Extent, Extent * 7 % 37 + 1>();
    check_crossed<float, Extent, 101 - Extent, Extent * 7 % 37 + 1>();
  });
}

// There are more rows than in one block, and two or three blocks of depth. Some results are so large that they do not
// fit into the nearer caches.
BOOST_AUTO_TEST_CASE(several_blocks) {
  check_straight<float, 901, 35, 601>();
  check_crossed<float, 901, 35, 601>();
  check_crossed<double, 405, 19, 301>();
  check_straight<float, 61, 35, 769>();
  check_crossed<float, 61, 35, 769>();
  check_straight<float, 785, 67, 385>();
  check_crossed<float, 785, 67, 385>();
}

BOOST_AUTO_TEST_SUITE_END()
