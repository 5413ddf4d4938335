// Generated arrays: the values that fused loops, kernels and maps read from them. tests/static/indices.cpp has the
// static properties.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cmath>
#include <numeric>
#include <vector>

using namespace cairn;

namespace {

/// No two elements are equal, and float holds all of them exactly.
constexpr auto marked = [](int i, int j, int k) { return 100.25 * i + 10.5 * j + 0.125 * k; };

/// Adds the array `marked` with these extents to arrays with other layouts, and compares with plain arithmetic.
template <class Real, int A, int B, int C>
void check_read_by_loops() {
  constexpr auto x = input<"x", 2, A, B, C>;
  constexpr auto row = generated<C>([](int k) { return 0.125 * k; });
  constexpr auto column = generated<B, 1>([](int j, int) { return 10.5 * j; });
  constexpr auto all = generated<A, B, C>(marked);
  std::vector<Real> in(2 * A * B * C);
  std::iota(in.begin(), in.end(), Real{1});
  program<outputs(sum(param<"w", 1> * x), x + all, x + row, x + column, transpose<0, 2, 1>(all) + 1_c),
          cairn::real<Real>>
      step;
  step.init(seed{1});
  const auto [loss, with_all, with_row, with_column, turned] = step.value_and_grad(bind<"x">(in));
  std::size_t n = 0;
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < A; ++i) {
      for (int j = 0; j < B; ++j) {
        for (int k = 0; k < C; ++k, ++n) {
          BOOST_REQUIRE(with_all.data()[n] == in[n] + static_cast<Real>(marked(i, j, k)));
          BOOST_REQUIRE(with_row.data()[n] == in[n] + static_cast<Real>(0.125 * k));
          BOOST_REQUIRE(with_column.data()[n] == in[n] + static_cast<Real>(10.5 * j));
          BOOST_REQUIRE(turned(i, k, j) == static_cast<Real>(marked(i, j, k)) + 1);
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(generated_arrays)

// The rows are shorter and longer than a register, and some axes have one element, which fused loops remove.
BOOST_AUTO_TEST_CASE(fused_loops_compute_the_elements_that_they_read) {
  check_read_by_loops<float, 2, 3, 17>();
  check_read_by_loops<float, 1, 33, 1>();
  check_read_by_loops<float, 3, 1, 5>();
  check_read_by_loops<double, 2, 5, 9>();
}

BOOST_AUTO_TEST_CASE(kernels_and_maps_read_a_copy) {
  constexpr auto table = generated<7, 2>([](int i, int j) { return 100 * i + j; });
  constexpr auto w = param<"w", 2, 3>;
  program<outputs(sum(matmul(table, w)), gather<0>(table, arange<4>), table, reshape<6>(slice<0, 2, 5>(table)),
                  one_hot(arange<2>), zeros<2, 2>, arange<5>, sum(as_real(arange<100>)))>
      step;
  step.init(seed{1});
  const auto [loss, looked_up, all, part, ones, none, counted, summed] = step.value_and_grad();
  const auto equal = [](const auto& got, const auto& expected) { return std::ranges::equal(got, expected); };
  BOOST_TEST(equal(step.grad<"w">(), std::array{2100, 2100, 2100, 2107, 2107, 2107}));
  BOOST_TEST(equal(looked_up, std::array{0, 1, 100, 101, 200, 201, 300, 301}));
  BOOST_TEST((all(6, 1) == 601 && all(0, 1) == 1));
  BOOST_TEST(equal(part, std::array{200, 201, 300, 301, 400, 401}));
  BOOST_TEST(equal(ones, std::array{1, 0, 0, 1}));
  BOOST_TEST(equal(none, std::array{0, 0, 0, 0}));
  BOOST_TEST(equal(counted, std::array{0, 1, 2, 3, 4}));
  BOOST_TEST(summed == 4950);
}

// A sum over values that a fused loop computes from a generated array is computed in the same loop.
BOOST_AUTO_TEST_CASE(sums_of_generated_arrays) {
  constexpr auto x = input<"x", 37, 3>;
  constexpr auto far = x - generated<37, 3>([](int i, int j) { return i - j; });
  program<outputs(sum(square(far)) * mean(param<"w", 1>), sum<0>(square(far)), sum<1>(square(far)))> step;
  std::ranges::fill(step.param<"w">(), 1.F);
  std::vector<float> in(37 * 3, 2);
  const auto [all, columns, rows] = step.value_and_grad(bind<"x">(in));
  std::array<float, 3> by_column{};
  std::array<float, 37> by_row{};
  for (std::size_t i = 0; i < 37; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const float apart = 2 - (static_cast<float>(i) - static_cast<float>(j));
      by_column[j] += apart * apart;
      by_row[i] += apart * apart;
    }
  }
  BOOST_TEST(all == std::accumulate(by_row.begin(), by_row.end(), 0.F));
  BOOST_TEST(std::ranges::equal(columns, by_column));
  BOOST_TEST(std::ranges::equal(rows, by_row));
}

// The expected values are PyTorch 2.15's for generate_square_subsequent_mask, arange and zeros.
BOOST_AUTO_TEST_CASE(values_and_gradients_equal_those_of_pytorch) {
  constexpr auto q = param<"q", 3, 2>;
  constexpr auto k = param<"k", 3, 2>;
  constexpr auto shares = softmax(matmul(q, transpose(k)) + causal_mask<3>);
  constexpr auto y = matmul(shares, input<"v", 3, 2>) + reshape<3, 1>(as_real(arange<3>));
  constexpr auto weights = generated<3, 2>([](int i, int j) { return 2 * i + j + 1; });
  program<outputs(sum(y * weights) + sum(zeros<3, 2>), shares, y)> step;
  step.set(bind<"q">(std::array{.5F, -1.F, 2.F, .25F, -.75F, 1.5F}),
           bind<"k">(std::array{1.F, .5F, -.25F, 2.F, .75F, -1.F}));
  const auto [loss, s, out] = step.value_and_grad(bind<"v">(std::array{1.F, 2.F, 3.F, -4.F, -5.F, 6.F}));
  const auto near = [](const auto& got, const auto& expected) {
    return std::ranges::equal(got, expected, [](float a, float b) { return std::abs(a - b) <= 2e-6F; });
  };
  BOOST_TEST(std::abs(loss - 35.2052994F) <= 1e-5F);
  BOOST_TEST(near(s, std::array{1.F, 0.F, 0.F, .893309414F, .1066906F, 0.F, .0394400805F, .955545723F, .005014244F}));
  BOOST_TEST((s(0, 1) == 0 && s(1, 2) == 0));
  BOOST_TEST(near(out, std::array{1.F, 2.F, 2.21338129F, 2.35985637F, 4.88100624F, -1.71321726F}));
  BOOST_TEST(near(step.grad<"q">(), std::array{0.F, 0.F, 2.14442325F, -2.57330894F, 1.32094419F, -1.75548434F}));
  BOOST_TEST(near(step.grad<"k">(),
                  std::array{2.69529438F, 1.9004496F, -2.62431598F, -2.04240918F, -.0709801614F, .141960323F}));
}

BOOST_AUTO_TEST_CASE(gradients_next_to_generated_arrays) {
  constexpr auto x = param<"x", 2, 5, 5>;
  constexpr auto near = generated<5, 5>([](int i, int j) { return 1.0 / (1 + (i - j) * (i - j)); });
  constexpr auto loss = mean(square(matmul(softmax(x + causal_mask<5>) * near, near)));
  const gradient_deviation worst = gradcheck<loss + sum(square(grad(loss, x)))>(seed{1});
  BOOST_TEST(worst.relative < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
