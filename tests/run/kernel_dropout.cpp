// Compares random kernels with plain loops, bit for bit. Registers of every width draw the same numbers.
#include "cairn/kernel/dropout.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::random_stream, cairn::seed, cairn::shape;
using namespace kernel_check;

namespace {

constexpr random_stream some{seed{0x0123456789abcdef}, 0xfedcba9876543210, 0x89abcdef};

/// The operands are the result, the N numbers, and a random stream.
template <class Real, int N, double P>
constexpr kernel_pointer dropout =
    &run_kernel<cairn::lang::dropout_op<P, true>, Real, array<shape{N}>, array<shape{}, {cairn::dtype::key}>>;

template <class Real>
void check_dropout_of(kernel_pointer run, int n, double probability, int threads) {
  const auto in = numbers<Real>(n);
  std::vector<Real> expected(in.size());
  reference::dropout(in.data(), some, probability, expected.data(), n);
  guarded<Real> out(n), in_place(in);
  run({out.data(), in.data(), &some}, threads);
  run({in_place.data(), in_place.data(), &some}, threads);
  BOOST_TEST_CONTEXT("elements " << n << " probability " << probability << " threads " << threads) {
    BOOST_TEST(std::memcmp(out.data(), expected.data(), in.size() * sizeof(Real)) == 0);
    BOOST_TEST(std::memcmp(in_place.data(), expected.data(), in.size() * sizeof(Real)) == 0);
    BOOST_TEST(out.intact());
    BOOST_TEST(in_place.intact());
  }
}
template <class Real, int N, double P>
void check_dropout(int threads = 1) {
  check_dropout_of<Real>(dropout<Real, N, P>, N, P, threads);
}

template <class Real>
void check_dropouts() {
  for_each(sizes<1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 1000>{}, []<int N>() {
    check_dropout<Real, N, 0.5>();
    check_dropout<Real, N, 0.1>();
  });
  check_dropout<Real, 100, 0.0>();
  check_dropout<Real, 100, 1 - 0x1p-20>();
  check_dropout<Real, 100, 1 - 0x1p-52>();  // nearer to 1 than a word can express
  // There is enough work for five threads.
  for (const int threads : {1, 2, 3, 5})
    for_each(sizes<35001, 35008, 35009>{}, [=]<int N>() { check_dropout<Real, N, 0.5>(threads); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_dropout)

BOOST_AUTO_TEST_CASE(registers_draw_what_philox_draws) {
  for (const std::uint32_t n : {0U, 1U, 1000U, 0x7fffffffU, 0xfffffff0U}) {
    std::uint32_t words[cairn::kernels::drawn_at_once];
    cairn::kernels::draw(some, n, words);
    for (std::uint32_t i = 0; i < cairn::kernels::drawn_at_once; ++i) {
      const auto counted = cairn::philox({n + i / 4, 0x89abcdef, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
      BOOST_TEST(words[i] == counted[i % 4]);
      BOOST_TEST(words[i] == some(n + i / 4)[i % 4]);
    }
  }
}

BOOST_AUTO_TEST_CASE(dropout_in_float) { check_dropouts<float>(); }
BOOST_AUTO_TEST_CASE(dropout_in_double) { check_dropouts<double>(); }

BOOST_AUTO_TEST_CASE(dropped_elements_are_zero_even_if_they_were_infinite_or_nan) {
  constexpr int n = 1000;
  std::vector<float> x(n), y(n), ones(n, 1), kept(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = i % 2 == 0 ? infinity<float> : no_number<float>;
  constexpr kernel_pointer half = dropout<float, n, 0.5>;
  half({y.data(), x.data(), &some}, 1);
  half({kept.data(), ones.data(), &some}, 1);
  for (std::size_t i = 0; i < n; ++i) BOOST_TEST((y[i] == 0) == (kept[i] == 0));
}

BOOST_AUTO_TEST_SUITE_END()
