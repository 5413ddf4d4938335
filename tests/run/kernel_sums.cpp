// Sums of many terms keep their digits in every kernel. They are compared with sums in a wider type.
#include "cairn/kernel/convolution.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/loss.hpp"
#include "cairn/kernel/matmul.hpp"
#include "cairn/kernel/pool.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/softmax.hpp"

#include <boost/test/unit_test.hpp>

#include "kernel_check.hpp"

using cairn::detail::axis_set, cairn::shape;
using namespace kernel_check;

namespace {

/// The terms are all equal, have random signs, or are large and nearly equal.
enum class terms { constant, random, large_mean };
constexpr terms sorts[]{terms::constant, terms::random, terms::large_mean};

template <class Real>
std::vector<Real> drawn(std::int64_t n, terms sort) {
  std::vector<Real> out = numbers<Real>(n);
  for (Real& x : out) x = sort == terms::constant ? static_cast<Real>(0.1) : sort == terms::random ? x : 1000 + x;
  return out;
}

/// Bounds of errors, relative to the sum of the magnitudes of the terms. If n numbers are added one after another, each
/// addition rounds. If all terms are equal, the partial sums are half the sum on average. There are two more roundings,
/// of the term itself and of the last addition.
template <class Real>
constexpr double one_after_another(int n) {
  return (n / 2 + 2) * epsilon<Real> / 2;
}
template <class Real>
constexpr double in_sections = one_after_another<Real>(cairn::costs::section_terms);
/// Products add the terms of a block one after another, and then the blocks of a section.
template <class Real>
constexpr double in_blocks =
    one_after_another<Real>(cairn::costs::most_block_pixels) + one_after_another<Real>(cairn::costs::section_blocks);

/// The sum of some terms and the sum of their magnitudes, in a wider type and with compensation.
struct exact_sum {
  long double sum = 0, surplus = 0, size = 0;

  void add(long double term) {
    const long double more = term - surplus, next = sum + more;
    surplus = (next - sum) - more;
    sum = next;
    size += std::abs(term);
  }
  double error(long double of) const { return static_cast<double>(std::abs(of - sum) / size); }
};

template <class Real, shape From, axis_set Axes>
void check_sum() {
  constexpr std::int64_t count = cairn::reduced(From, Axes, false).count();
  for (const terms sort : sorts) {
    const auto in = drawn<Real>(From.count(), sort);
    std::vector<exact_sum> exact(count);
    for (std::int64_t i = 0; i < From.count(); ++i) {
      std::int64_t to = 0, rest = i;
      for (std::int64_t axis = From.rank, step = 1; axis-- > 0; rest /= From[static_cast<int>(axis)]) {
        if ((Axes >> axis & 1U) != 0) continue;
        to += rest % From[static_cast<int>(axis)] * step;
        step *= From[static_cast<int>(axis)];
      }
      exact[static_cast<std::size_t>(to)].add(in[static_cast<std::size_t>(i)]);
    }
    guarded<Real> sums(count), by_three(count);
    run_kernel<cairn::lang::sum_op<Axes, false>, Real, array<From>>({sums.data(), in.data()}, 1);
    run_kernel<cairn::lang::sum_op<Axes, false>, Real, array<From>>({by_three.data(), in.data()}, 3);
    double most = 0;
    for (std::int64_t k = 0; k < count; ++k)
      most = worse(most, exact[static_cast<std::size_t>(k)].error(sums.data()[k]) / in_sections<Real>);
    BOOST_TEST_CONTEXT("extents " << From[0] << ' ' << From[-1] << " of rank " << From.rank << ", axes " << Axes) {
      BOOST_TEST(most < 1);
      BOOST_TEST(std::equal(sums.data(), sums.data() + count, by_three.data()));
      BOOST_TEST((sums.intact() && by_three.intact()));
    }
  }
}

/// All runs except two lead to position 1.
template <class In, class Real, int Outer, int Inner, int Count>
void check_scatter() {
  using positions = array<shape{Count}, cairn::index_below(3)>;
  using laid_at = std::conditional_t<std::is_same_v<In, cairn::bf16>,
                                     array<shape{Outer, Count, Inner}, cairn::element_type{cairn::dtype::bf16}>,
                                     array<shape{Outer, Count, Inner}>>;
  std::vector<std::int32_t> at(Count, 1), sorted(Count + 3);
  at.front() = at.back() = 0;
  for (const terms sort : sorts) {
    std::vector<In> laid;
    for (const Real x : drawn<Real>(std::int64_t{Outer} * Count * Inner, sort)) laid.push_back(static_cast<In>(x));
    guarded<Real> sums(Outer * 3 * Inner), by_three(Outer * 3 * Inner);
    const auto added = &run_kernel<cairn::lang::scatter_add_op<1, 3>, In, laid_at, positions>;
    added({sums.data(), laid.data(), at.data(), sorted.data()}, 1);
    added({by_three.data(), laid.data(), at.data(), sorted.data()}, 3);
    for (std::int64_t k = 0; k < Outer; ++k) {
      for (std::int64_t j = 0; j < Inner; j += 99) {
        exact_sum exact;
        for (std::int64_t i = 1; i + 1 < Count; ++i)
          exact.add(static_cast<Real>(laid[static_cast<std::size_t>((k * Count + i) * Inner + j)]));
        BOOST_TEST(exact.error(sums.data()[(k * 3 + 1) * Inner + j]) < in_sections<Real>);
      }
    }
    BOOST_TEST(std::equal(sums.data(), sums.data() + Outer * 3 * Inner, by_three.data()));
  }
}

/// A gradient of weights over K rows: columns of ones times columns of terms.
template <class Real, int M, int N, int K>
void check_product() {
  using op = cairn::lang::matmul_op<true, false>;
  const std::vector<Real> ones(std::size_t{M} * K, Real{1});
  constexpr shape a{K, M}, b{K, N};
  for (const terms sort : sorts) {
    const auto x = drawn<Real>(std::int64_t{K} * N, sort);
    guarded<Real> y(M * N), by_three(M * N), scratch(op::scratch(sizeof(Real), a, b).numbers(3));
    run_kernel<op, Real, array<a>, array<b>>({y.data(), ones.data(), x.data(), scratch.data()}, 1);
    run_kernel<op, Real, array<a>, array<b>>({by_three.data(), ones.data(), x.data(), scratch.data()}, 3);
    for (const std::int64_t j : {0, N - 1}) {
      exact_sum exact;
      for (std::int64_t i = 0; i < K; ++i) exact.add(x[static_cast<std::size_t>(i * N + j)]);
      BOOST_TEST(exact.error(y.data()[j]) < in_blocks<Real>);
      BOOST_TEST(exact.error(y.data()[(M - 1) * N + j]) < in_blocks<Real>);
    }
    BOOST_TEST(std::equal(y.data(), y.data() + M * N, by_three.data()));
    BOOST_TEST((y.intact() && by_three.intact() && scratch.intact()));
  }
}

/// The gradient of filters with one tap: images of ones times gradients of terms.
template <class Real, int Images, int Height, int Width, int Channels, bool Depthwise>
void check_filter() {
  constexpr cairn::costs::motion moves{.groups = Depthwise ? Channels : 1};
  using op = cairn::lang::filter_gradient_op<moves, 1, 1>;
  constexpr shape x{Images, Height, Width, Channels}, g{Images, Height, Width, Channels};
  constexpr int inputs = Depthwise ? 1 : Channels;
  const std::vector<Real> ones(static_cast<std::size_t>(x.count()), Real{1});
  for (const terms sort : sorts) {
    const auto in = drawn<Real>(g.count(), sort);
    guarded<Real> made(Channels * inputs), by_three(Channels * inputs);
    std::vector<Real> scratch(static_cast<std::size_t>(op::scratch(sizeof(Real), x, g).numbers(3)) + 16);
    Real* const aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) / sizeof(Real);
    run_kernel<op, Real, array<x>, array<g>>({made.data(), ones.data(), in.data(), aligned}, 1);
    run_kernel<op, Real, array<x>, array<g>>({by_three.data(), ones.data(), in.data(), aligned}, 3);
    for (const std::int64_t c : {0, Channels - 1}) {
      exact_sum exact;
      for (std::int64_t i = 0; i < g.count(); i += Channels) exact.add(in[static_cast<std::size_t>(i + c)]);
      BOOST_TEST(exact.error(made.data()[c * inputs]) < in_blocks<Real>);
    }
    BOOST_TEST(std::equal(made.data(), made.data() + Channels * inputs, by_three.data()));
    BOOST_TEST((made.intact() && by_three.intact()));
  }
}

/// One logit is large, and the exponentials of all other logits are equal.
template <class Real, shape X, int Axis>
void check_softmax() {
  constexpr int inner = Axis == 0 ? static_cast<int>(X.count() / X[0]) : 1;
  std::vector<Real> in(static_cast<std::size_t>(X.count()), static_cast<Real>(0.3));
  std::fill_n(in.begin(), inner, Real{1});
  guarded<Real> out(X.count());
  run_kernel<cairn::lang::softmax_op<Axis>, Real, array<X>>({out.data(), in.data()});
  const double e = std::exp(double{in.back()} - 1), total = 1 + (X[Axis] - 1) * e;
  double most = 0;
  for (std::int64_t i = 0; i < X.count(); ++i)
    most = worse(most, std::abs(double{out.data()[i]} / (i < inner ? 1 / total : e / total) - 1));
  BOOST_TEST(most < in_sections<Real> + 8 * epsilon<Real>);  // one exponential, and two roundings
  BOOST_TEST(out.intact());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_sums)

BOOST_AUTO_TEST_CASE(sums_over_axes) {
  check_sum<float, shape{10}, 1>();
  check_sum<float, shape{10'000'000}, 1>();
  check_sum<float, shape{1'000'000, 2}, 1>();
  check_sum<float, shape{1'000, 1'500}, 1>();
  check_sum<float, shape{2, 1'000'000}, 2>();
  check_sum<float, shape{1'000, 1'000, 2}, 3>();
  check_sum<double, shape{1'000'000}, 1>();
  check_sum<double, shape{100'000, 3}, 1>();
}
// Sums over axes with kept axes between them. They sum single numbers or rows, in blocks of the kept axes.
BOOST_AUTO_TEST_CASE(sums_over_axes_with_kept_axes_between) {
  check_sum<float, shape{100'000, 2, 5}, 0b101>();
  check_sum<float, shape{5, 2, 100'000}, 0b101>();
  check_sum<float, shape{60, 1'100, 40}, 0b101>();
  check_sum<float, shape{70, 3, 40, 1'100}, 0b0101>();
  check_sum<float, shape{3, 400, 2, 400}, 0b1010>();
  check_sum<float, shape{100, 2, 50, 3, 20}, 0b10101>();
  check_sum<double, shape{1'000, 3, 50}, 0b101>();
}
// An infinite total stays infinite. It is NaN only if infinities of both signs are added.
BOOST_AUTO_TEST_CASE(infinite_sums) {
  const auto sum_of = [](std::vector<float> in) {
    float sum = 0, columns[2];
    run_kernel<cairn::lang::sum_op<1, false>, float, array<shape{4'000}>>({&sum, in.data()});
    run_kernel<cairn::lang::sum_op<1, false>, float, array<shape{2'000, 2}>>({columns, in.data()});
    BOOST_TEST((columns[0] + columns[1] == sum || (std::isnan(columns[0] + columns[1]) && std::isnan(sum))));
    return sum;
  };
  std::vector<float> in(4'000, 1.F);
  BOOST_TEST(sum_of(in) == 4'000);
  in[100] = infinity<float>;
  BOOST_TEST(sum_of(in) == infinity<float>);
  in[3'900] = -infinity<float>;
  BOOST_TEST(std::isnan(sum_of(in)));
  BOOST_TEST(sum_of(std::vector(4'000, -std::numeric_limits<float>::max())) == -infinity<float>);
}
BOOST_AUTO_TEST_CASE(scatter_adds) {
  check_scatter<float, float, 1, 1, 1'000'000>();
  check_scatter<float, float, 1, 5, 100'000>();
  check_scatter<float, float, 2, 2'100, 1'000>();
  check_scatter<double, double, 1, 3, 100'000>();
  check_scatter<cairn::bf16, float, 1, 33, 10'000>();
}
BOOST_AUTO_TEST_CASE(pools) {
  constexpr cairn::lang::pooling whole{300}, around{.extent = 81, .stride = 1, .padding = 40};
  constexpr shape x{1, 300, 300, 3}, g{1, 90, 90, 3};
  const std::vector<float> in(x.count(), 0.1F);
  float sums[3];
  run_kernel<cairn::lang::sum_pool_op<whole, false>, float, array<x>>({sums, in.data()});
  for (const float sum : sums) BOOST_TEST(std::abs(sum / (300 * 300 * double{0.1F}) - 1) < 2 * in_sections<float>);
  std::vector<float> spread(g.count());
  run_kernel<cairn::lang::window_spread_op<around, false, 90, 90>, float, array<g>>({spread.data(), in.data()});
  const double middle = spread[(45 * 90 + 45) * 3];
  BOOST_TEST(std::abs(middle / (81 * 81 * double{0.1F}) - 1) < 2 * in_sections<float>);
}
BOOST_AUTO_TEST_CASE(products) {
  check_product<float, 2, 3, 10>();
  check_product<float, 2, 3, 1'000>();
  check_product<float, 1, 2, 1'000'000>();
  check_product<float, 13, 41, 110'000>();
  check_product<float, 41, 13, 110'000>();
  check_product<double, 3, 5, 110'000>();
}
BOOST_AUTO_TEST_CASE(gradients_of_filters) {
  check_filter<float, 30, 100, 100, 3, false>();
  check_filter<float, 10, 100, 100, 3, true>();
  check_filter<float, 1, 1, 300'000, 2, true>();
  check_filter<double, 160, 30, 30, 19, false>();
}
BOOST_AUTO_TEST_CASE(softmax_of_many_terms) {
  check_softmax<float, shape{1, 1'000'000}, -1>();
  check_softmax<float, shape{1'000'000, 3}, 0>();
  check_softmax<double, shape{100'000, 3}, 0>();
}

BOOST_AUTO_TEST_SUITE_END()
