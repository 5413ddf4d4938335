// Compares the kernels of random numbers with plain loops over the words of their stream.
#include "cairn/kernel/random_numbers.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "kernel_check.hpp"

using cairn::bf16, cairn::random_stream, cairn::seed, cairn::shape;
using namespace cairn::lang;
using namespace kernel_check;

namespace {

constexpr random_stream some{seed{0x0123456789abcdef}, 0xfedcba9876543210, 0x89abcdef};

template <class Law, class Real, int N>
constexpr kernel_pointer drawing = &run_kernel<random_numbers_op<Law, N>, Real, array<shape{}, {cairn::dtype::key}>>;

std::uint32_t word(std::int64_t element) {
  return some(static_cast<std::uint32_t>(element / 4))[static_cast<std::size_t>(element % 4)];
}
/// Returns the quantile of the normal distribution that belongs to a word, by bisection.
double quantile(std::uint32_t word) {
  const double beyond = (static_cast<double>(0x7fffffffU - (word & 0x7fffffffU)) + 0.5) * 0x1p-32;
  double low = 0, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > beyond ? low : high) = middle;
  }
  return word >> 31 == 1 ? low : -low;
}
double expected(uniform_law, std::uint32_t drawn) { return static_cast<double>(drawn >> 8) * 0x1p-24; }
double expected(normal_law, std::uint32_t drawn) { return quantile(drawn); }
template <double P>
double expected(bernoulli_law<P>, std::uint32_t drawn) {
  return drawn < static_cast<std::uint32_t>(P * 0x1p32) ? 1 : 0;
}
/// Returns the largest difference between a number and the exact number. Only normal numbers are rounded. The bisection
/// has an error of its own of at most 1e-15.
template <class Law, class Real>
double allowed(double exact) {
  if (!std::is_same_v<Law, normal_law>) return 0;
  return (sizeof(Real) == 4 ? 4e-7 : 2e-14) * std::abs(exact) + 1e-15;
}

template <class Law, class Real, int N>
void check(int threads = 1) {
  guarded<Real> out(N);
  drawing<Law, Real, N>({out.data(), &some}, threads);
  BOOST_TEST_CONTEXT(std::string_view(Law::name) << " elements " << N << " threads " << threads) {
    BOOST_TEST(out.intact());
    for (std::int64_t i = 0; i < N; ++i) {
      const double exact = expected(Law{}, word(i)), made = static_cast<double>(out.data()[i]);
      if (!(std::abs(made - exact) <= allowed<Law, Real>(exact))) BOOST_ERROR(i << ": " << made << " " << exact);
    }
  }
}
template <class Law, class Real>
void check_sizes() {
  for_each(sizes<1, 2, 3, 4, 7, 8, 9, 16, 31, 33, 64, 65, 100, 129>{}, []<int N>() { check<Law, Real, N>(); });
}
/// Several threads draw the same bits as one thread.
template <class Law, class Real>
void check_threads() {
  constexpr int n = 35009;
  guarded<Real> one(n);
  constexpr kernel_pointer draw = drawing<Law, Real, n>;
  draw({one.data(), &some}, 1);
  for (const int threads : {2, 3, 5}) {
    guarded<Real> out(n);
    draw({out.data(), &some}, threads);
    BOOST_TEST(std::memcmp(out.data(), one.data(), n * sizeof(Real)) == 0);
    BOOST_TEST(out.intact());
  }
}

/// Returns the normal number that is made of a word.
template <class Real>
Real normal_of(std::uint32_t drawn) {
  using vec = cairn::kernels::lanes<Real>;
  std::uint32_t words[vec::width];
  std::fill_n(words, vec::width, drawn);
  Real out[vec::width];
  cairn::kernels::numbers_of<vec>(normal_law{}, words).store(out);
  return out[vec::width - 1];
}
template <class Real>
void check_extreme_words() {
  const std::uint32_t words[]{0,          1,          0x7fffffff, 0x7ffffffe, 0x80000000, 0x80000001, 0xffffffff,
                              0xfffffffe, 0x6ccccccc, 0x6ccccccd, 0xecccccca, 0xeccccccf, 0x40000000, 0xff000000};
  for (const std::uint32_t drawn : words) {
    const double exact = quantile(drawn), made = static_cast<double>(normal_of<Real>(drawn));
    BOOST_TEST(std::abs(made - exact) <= (allowed<normal_law, Real>(exact)), drawn << ": " << made);
    BOOST_TEST(normal_of<Real>(drawn ^ 0x80000000U) == -normal_of<Real>(drawn));
  }
  BOOST_TEST(std::abs(normal_of<Real>(0xffffffff) - Real(6.3379578)) < Real(1e-5));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_random_numbers)

BOOST_AUTO_TEST_CASE(in_float) {
  check_sizes<normal_law, float>();
  check_sizes<uniform_law, float>();
  check_sizes<bernoulli_law<0.1>, float>();
  check<bernoulli_law<0.0>, float, 100>();
  check<bernoulli_law<1 - 0x1p-52>, float, 100>();
}
BOOST_AUTO_TEST_CASE(in_double) {
  check_sizes<normal_law, double>();
  check_sizes<uniform_law, double>();
  check_sizes<bernoulli_law<0.1>, double>();
}
BOOST_AUTO_TEST_CASE(on_threads) {
  check_threads<normal_law, float>();
  check_threads<uniform_law, double>();
}
BOOST_AUTO_TEST_CASE(the_smallest_and_the_largest_words) {
  check_extreme_words<float>();
  check_extreme_words<double>();
}

// A part of the rows has the numbers of these rows, also if the part begins within a counter.
BOOST_AUTO_TEST_CASE(parts_of_rows) {
  guarded<float> whole(21), part(7);
  drawing<normal_law, float, 21>({whole.data(), &some}, 1);
  for (std::uint32_t k = 0; k < 3; ++k) {
    random_stream stream = some;
    stream.part = k;
    drawing<normal_law, float, 7>({part.data(), &stream}, 1);
    BOOST_TEST(std::memcmp(part.data(), whole.data() + 7 * k, 7 * sizeof(float)) == 0);
  }
}

// In bf16 a uniform number is rounded toward zero, so that no number is 1. A normal number is rounded to the nearest.
BOOST_AUTO_TEST_CASE(in_bf16) {
  constexpr int n = 35009;
  guarded<float> exact(n);
  guarded<bf16> made(n);
  drawing<uniform_law, float, n>({exact.data(), &some}, 1);
  drawing<uniform_law, cairn::detail::floats_rounded, n>({made.data(), &some}, 1);
  int would_be_one = 0;
  for (int i = 0; i < n; ++i) {
    const auto rounded = static_cast<float>(made.data()[i]);
    BOOST_TEST_REQUIRE((rounded <= exact.data()[i] && exact.data()[i] - rounded <= exact.data()[i] / 128));
    would_be_one += static_cast<float>(bf16(exact.data()[i])) == 1 ? 1 : 0;
  }
  BOOST_TEST(would_be_one > 0);
  drawing<normal_law, float, n>({exact.data(), &some}, 1);
  drawing<normal_law, cairn::detail::floats_rounded, n>({made.data(), &some}, 1);
  for (int i = 0; i < n; ++i) BOOST_TEST_REQUIRE(made.data()[i].bits == bf16(exact.data()[i]).bits);
  BOOST_TEST((made.intact() && exact.intact()));
}

BOOST_AUTO_TEST_SUITE_END()
