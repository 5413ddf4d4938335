// Compares three kinds of kernels with plain loops: moments of rows, the sums for gradients of norms, and rotary
// embeddings. The tests use awkward extents, far means, constant rows, threads, and rows that a fused loop follows.
#include "cairn/kernel/norm.hpp"
#include "cairn/kernel/rotary.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <mutex>

#include "../reference.hpp"
#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

constexpr double eps = 1e-5;

/// A fused loop that follows a kernel. It only counts the rows.
struct follower {
  std::vector<int> visits;
  std::mutex one_at_a_time;

  static void visit(const void* self, void* const*, costs::range rows) {
    follower& f = *static_cast<follower*>(const_cast<void*>(self));
    const std::scoped_lock lock(f.one_at_a_time);
    for (auto row = rows.begin; row < rows.end; ++row) ++f.visits[static_cast<std::size_t>(row)];
  }
};
/// Runs a kernel as run_kernel does, with a fused loop that follows it.
template <class Op, class Real, class... Tensors>
bool follow_kernel(std::vector<const void*> operands, int rows, int threads) {
  follower f{std::vector<int>(static_cast<std::size_t>(rows)), {}};
  const kernels::row_maker after{&follower::visit, &f, nullptr, true};
  compute(Op{}, signature<Real, Tensors...>{}, const_cast<void* const*>(operands.data()),
          kernels::launch{.threads = threads, .maker = &after});
  return std::ranges::count(f.visits, 1) == rows;
}

// The bounds of errors. A mean has its own error and one more rounding. The variance has the error of a variance of
// columns. The error of 2 / sqrt(v + eps) is an eighth of its cube times the error of the variance.
template <class Real, int Rows, int Columns>
void check_moments(Real distance, std::initializer_list<int> each_number_of_threads = {1}) {
  using of = array<shape{Rows, Columns}>;
  auto x = numbers<Real>(Rows * Columns);
  for (Real& a : x) a += distance;
  std::vector<Real> mean(Rows), scale(Rows), root(Rows);
  reference::row_moments(x.data(), Rows, Columns, eps, mean.data(), scale.data(), root.data());
  const double error = (std::sqrt(Columns) + 8) * epsilon<Real>;
  const auto scale_error = [&](const std::vector<Real>& exact, double of_square) {
    return [&exact, of_square](std::int64_t i) {
      const double s = exact[static_cast<std::size_t>(i)];
      return s * s * s / 8 * of_square + 4 * epsilon<Real> * s;
    };
  };
  for (const int threads : each_number_of_threads) {
    guarded<Real> m(Rows), s(Rows), r(Rows), alone(Rows), followed(Rows);
    run_kernel<lang::row_moments_op<eps>, Real, of>({m.data(), s.data(), x.data()}, threads);
    run_kernel<lang::row_moments_op<eps>, Real, of>({nullptr, alone.data(), x.data()}, threads);
    run_kernel<lang::row_scale_op<eps>, Real, of>({r.data(), x.data()}, threads);
    BOOST_TEST_CONTEXT("rows " << Rows << " columns " << Columns << " threads " << threads) {
      const auto mean_error = [&](auto) { return error / 2 + epsilon<Real> / 4 * (1 + std::abs(distance)); };
      BOOST_TEST(worst(m.data(), mean.data(), Rows, mean_error) <= 1);
      BOOST_TEST(worst(s.data(), scale.data(), Rows, scale_error(scale, 4 * error)) <= 1);
      const double square = 1 + double{distance} * double{distance};
      BOOST_TEST(worst(r.data(), root.data(), Rows, scale_error(root, 2 * error * square)) <= 1);
      BOOST_TEST(std::equal(alone.data(), alone.data() + Rows, s.data()));
      BOOST_TEST(
          (follow_kernel<lang::row_moments_op<eps>, Real, of>({nullptr, followed.data(), x.data()}, Rows, threads)));
      BOOST_TEST(std::equal(followed.data(), followed.data() + Rows, s.data()));
      BOOST_TEST((m.intact() && s.intact() && r.intact() && alone.intact()));
    }
  }
}

// The bounds of errors. The terms are below 2. Rows are added in blocks of 64, and the numbers of a row in blocks of 32
// in each of at least 4 * 2 lanes. The sums over blocks lose no digits. A few more roundings happen inside a term.
template <class Real, int Rows, int Columns>
void check_sums(std::initializer_list<int> each_number_of_threads = {1}) {
  using of = array<shape{Rows, Columns}>;
  using row = array<shape{Rows, 1}>;
  using column = array<shape{Columns}>;
  const auto g = numbers<Real>(Rows * Columns), x = numbers<Real>(Rows * Columns), mean = numbers<Real>(Rows),
             scale = numbers<Real>(Rows), weight = numbers<Real>(Columns), no_mean = std::vector<Real>(Rows);
  std::vector<Real> expected[4], without[4];
  for (auto* all : {&expected, &without}) {
    for (int k = 0; k < 4; ++k) (*all)[k].resize(k < 2 ? Rows : Columns);
    reference::norm_sums(g.data(), x.data(), all == &expected ? mean.data() : no_mean.data(), scale.data(),
                         weight.data(), Rows, Columns, (*all)[0].data(), (*all)[1].data(), (*all)[2].data(),
                         (*all)[3].data());
  }
  const auto of_column = [](std::int64_t) { return (std::min(Rows, 64) + 7) * std::sqrt(2.0) * Rows * epsilon<Real>; };
  const auto of_row = [](std::int64_t) { return (std::min(Columns / 8, 32) + 10) * 2 * epsilon<Real>; };
  for (const int threads : each_number_of_threads) {
    const auto scratch_size = lang::normalized_sums_op::scratch(0, of::shape).numbers(threads);
    guarded<Real> level(Rows), tilt(Rows), of_weight(Columns), of_bias(Columns), scratch(scratch_size);
    guarded<Real> weight_alone(Columns), tilt_followed(Rows), weight_followed(Columns);
    run_kernel<lang::normalized_sums_op, Real, of, of, row, row, column>(
        {level.data(), tilt.data(), of_weight.data(), of_bias.data(), g.data(), x.data(), mean.data(), scale.data(),
         weight.data(), scratch.data()},
        threads);
    BOOST_TEST_CONTEXT("rows " << Rows << " columns " << Columns << " threads " << threads) {
      BOOST_TEST(worst(level.data(), expected[0].data(), Rows, of_row) <= 1);
      BOOST_TEST(worst(tilt.data(), expected[1].data(), Rows, of_row) <= 1);
      BOOST_TEST(worst(of_weight.data(), expected[2].data(), Columns, of_column) <= 1);
      BOOST_TEST(worst(of_bias.data(), expected[3].data(), Columns, of_column) <= 1);
      run_kernel<lang::normalized_sums_op, Real, of, of, row, row, column>(
          {nullptr, nullptr, weight_alone.data(), nullptr, g.data(), x.data(), mean.data(), scale.data(), weight.data(),
           scratch.data()},
          threads);
      BOOST_TEST(std::equal(weight_alone.data(), weight_alone.data() + Columns, of_weight.data()));
      BOOST_TEST((follow_kernel<lang::normalized_sums_op, Real, of, of, row, row, column>(
          {nullptr, tilt_followed.data(), weight_followed.data(), nullptr, g.data(), x.data(), mean.data(),
           scale.data(), weight.data(), scratch.data()},
          Rows, threads)));
      BOOST_TEST(std::equal(tilt_followed.data(), tilt_followed.data() + Rows, tilt.data()));
      BOOST_TEST(std::equal(weight_followed.data(), weight_followed.data() + Columns, of_weight.data()));
      run_kernel<lang::scaled_sums_op, Real, of, of, row, column>(
          {tilt.data(), of_weight.data(), g.data(), x.data(), scale.data(), weight.data(), scratch.data()}, threads);
      BOOST_TEST(worst(tilt.data(), without[1].data(), Rows, of_row) <= 1);
      BOOST_TEST(worst(of_weight.data(), without[2].data(), Columns, of_column) <= 1);
      for (auto* buffer : {&level, &tilt, &of_weight, &of_bias, &scratch}) BOOST_TEST(buffer->intact());
    }
  }
}

// Checks rotary embeddings forward and backward, with the positions of each example, and in place.
template <class Real, int N, int T, int Heads, int Features>
void check_rotary(int threads = 1) {
  constexpr std::int64_t count = std::int64_t{N} * T * Heads * Features;
  using of = array<shape{N, T, Heads, Features}>;
  std::vector<std::int32_t> at(N * T);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int32_t>(i * 37 % 1000);
  const auto x = numbers<Real>(count);
  for (const int examples : {1, N}) {
    guarded<Real> waves(examples * T * Features), out(count), back(count), in_place(x);
    std::vector<Real> expected(static_cast<std::size_t>(count));
    reference::rotary(x.data(), at.data(), expected.data(), N * T, examples * T, Heads, Features);
    const auto turned = [&](auto waves_of) {
      using table = decltype(waves_of);
      run_kernel<lang::rotated_op<false>, Real, of, table>({out.data(), x.data(), waves.data()}, threads);
      run_kernel<lang::rotated_op<false>, Real, of, table>({in_place.data(), in_place.data(), waves.data()}, threads);
      run_kernel<lang::rotated_op<true>, Real, of, table>({back.data(), out.data(), waves.data()}, threads);
    };
    if (examples == 1) {
      run_kernel<lang::waves_op<Features, 10000.0, true>, Real, array<shape{T}, index_below(1000)>>(
          {waves.data(), at.data()});
      turned(array<shape{T, Features}>{});
    } else {
      run_kernel<lang::waves_op<Features, 10000.0, true>, Real, array<shape{N, T}, index_below(1000)>>(
          {waves.data(), at.data()});
      turned(array<shape{N, T, Features}>{});
    }
    // Angles up to 1000 have errors of as many epsilons of double. Two products, two waves and a sum are rounded.
    const auto bound = [](std::int64_t) { return 8 * epsilon<Real> + 4000 * epsilon<double>; };
    BOOST_TEST_CONTEXT("extents " << N << " " << T << " " << Heads << " " << Features << " threads " << threads) {
      BOOST_TEST(worst(out.data(), expected.data(), count, bound) <= 1);
      BOOST_TEST(worst(back.data(), x.data(), count, bound) <= 1);
      BOOST_TEST(std::equal(in_place.data(), in_place.data() + count, out.data()));
      BOOST_TEST((waves.intact() && out.intact() && back.intact() && in_place.intact()));
    }
  }
}

/// For bf16, the results for rows and columns equal the results for the same numbers as floats, bit for bit.
template <int R, int C>
void check_halves(int threads = 1) {
  using halves = array<shape{R, C}, element_type{dtype::bf16}>;
  using floats = array<shape{R, C}>;
  using of_row = array<shape{R, 1}>;
  using of_column = array<shape{C}>;
  const std::vector<bf16> g = drawn_halves(R * C), x = drawn_halves(R * C, 3);
  const auto as_floats = [](const std::vector<bf16>& from) {
    std::vector<float> to;
    for (const bf16 e : from) to.push_back(static_cast<float>(e));
    return to;
  };
  const std::vector<float> exact_g = as_floats(g), exact_x = as_floats(x), mean = numbers<float>(R),
                           scale = numbers<float>(R), weight = numbers<float>(C);
  guarded<float> room(lang::normalized_sums_op::scratch(4, shape{R, C}).numbers(threads));
  // Results of rows and of columns, for bf16 and for floats.
  guarded<float> rows[2][2]{{guarded<float>(R), guarded<float>(R)}, {guarded<float>(R), guarded<float>(R)}};
  guarded<float> columns[2][2]{{guarded<float>(C), guarded<float>(C)}, {guarded<float>(C), guarded<float>(C)}};
  const auto same = [](guarded<float>(&made)[2][2], int count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    bool all = true;
    for (int r = 0; r < 2; ++r)
      all &= made[0][r].intact() && std::memcmp(made[0][r].data(), made[1][r].data(), bytes) == 0;
    return all;
  };
  BOOST_TEST_CONTEXT(R << " rows of " << C << ", threads " << threads) {
    run_kernel<lang::row_moments_op<eps>, bf16, halves>({rows[0][0].data(), rows[0][1].data(), x.data()}, threads);
    run_kernel<lang::row_moments_op<eps>, float, floats>({rows[1][0].data(), rows[1][1].data(), exact_x.data()});
    BOOST_TEST(same(rows, R));
    run_kernel<lang::row_scale_op<eps>, bf16, halves>({rows[0][0].data(), x.data()}, threads);
    run_kernel<lang::row_scale_op<eps>, float, floats>({rows[1][0].data(), exact_x.data()});
    BOOST_TEST(same(rows, R));
    run_kernel<lang::normalized_sums_op, bf16, halves, halves, of_row, of_row, of_column>(
        {rows[0][0].data(), rows[0][1].data(), columns[0][0].data(), columns[0][1].data(), g.data(), x.data(),
         mean.data(), scale.data(), weight.data(), room.data()},
        threads);
    run_kernel<lang::normalized_sums_op, float, floats, floats, of_row, of_row, of_column>(
        {rows[1][0].data(), rows[1][1].data(), columns[1][0].data(), columns[1][1].data(), exact_g.data(),
         exact_x.data(), mean.data(), scale.data(), weight.data(), room.data()});
    BOOST_TEST((same(rows, R) && same(columns, C)));
    run_kernel<lang::scaled_sums_op, bf16, halves, halves, of_row, of_column>(
        {rows[0][0].data(), columns[0][0].data(), g.data(), x.data(), scale.data(), weight.data(), room.data()},
        threads);
    run_kernel<lang::scaled_sums_op, float, floats, floats, of_row, of_column>(
        {rows[1][0].data(), columns[1][0].data(), exact_g.data(), exact_x.data(), scale.data(), weight.data(),
         room.data()});
    BOOST_TEST((same(rows, R) && same(columns, C)));
    BOOST_TEST(room.intact());
  }
}
}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_norm)

BOOST_AUTO_TEST_CASE(moments_of_awkward_extents) {
  for_each(awkward{}, []<int Extent>() { check_moments<float, 3, Extent>(0); });
  for_each(few{}, []<int Extent>() { check_moments<double, 5, Extent>(0); });
}
BOOST_AUTO_TEST_CASE(moments_of_far_means) {
  check_moments<float, 7, 1000>(1e6);
  check_moments<double, 3, 2570>(1e10);
}
BOOST_AUTO_TEST_CASE(sums_of_awkward_extents) {
  for_each(awkward{}, []<int Extent>() { check_sums<float, 6, Extent>(); });
  for_each(few{}, []<int Extent>() { check_sums<double, 300, Extent>(); });
  check_sums<float, 5, 1500>();
}
// A row of equal numbers has no variance, however large the numbers are.
BOOST_AUTO_TEST_CASE(constant_rows) {
  for (const float c : {0.F, 0.1F, -1e4F, 3e7F, 3.7e9F, -3.3e38F}) {
    const std::vector<float> x(3 * 101, c);
    float mean[3], scale[3];
    run_kernel<lang::row_moments_op<eps>, float, array<shape{3, 101}>>({mean, scale, x.data()});
    BOOST_TEST(mean[1] == c / 2);
    BOOST_TEST(std::abs(scale[1] / (2 / std::sqrt(eps)) - 1) <= epsilon<float>);
  }
}
// Multiplying by a power of two changes no digit, up to the largest numbers. Their squares, sums and differences
// overflow. eps is zero here.
template <class Real>
void check_huge() {
  constexpr int rows = 5, columns = 70, most = std::numeric_limits<Real>::max_exponent;
  using of = array<shape{rows, columns}>;
  const auto x = numbers<Real>(rows * columns);
  std::vector<Real> mean(rows), scale(rows), root(rows), now(rows), huge;
  using list = std::vector<Real>;
  const auto all = [&](const list& from, list& m, list& s, list& r) {
    run_kernel<lang::row_moments_op<0.0>, Real, of>({m.data(), s.data(), from.data()});
    run_kernel<lang::row_scale_op<0.0>, Real, of>({r.data(), from.data()});
  };
  all(x, mean, scale, root);
  for (const int power : {most / 2 - 3, most / 2, most / 2 + 1, most * 3 / 4, most - 2, most}) {
    huge = x;
    for (Real& a : huge) a = std::ldexp(a, power);
    std::vector<Real> m(rows), s(rows), r(rows);
    all(huge, m, s, r);
    for (std::size_t i = 0; i < rows; ++i) {
      BOOST_TEST_CONTEXT("2^" << power << " row " << i) {
        BOOST_TEST(m[i] == std::ldexp(mean[i], power));
        // The smallest numbers have fewer digits.
        const double least = std::numeric_limits<Real>::denorm_min();
        BOOST_TEST(std::abs(s[i] - std::ldexp(scale[i], -power)) <= least);
        BOOST_TEST(std::abs(r[i] - std::ldexp(root[i], -power)) <= least);
      }
    }
  }
}
BOOST_AUTO_TEST_CASE(huge_rows) {
  check_huge<float>();
  check_huge<double>();
}
// Sums of many equal terms lose no digits. The tests sum a row of a million numbers, and the gradient of weights over a
// million rows.
BOOST_AUTO_TEST_CASE(a_million_terms) {
  constexpr int n = 1'000'000;
  constexpr auto room = static_cast<std::size_t>(lang::normalized_sums_op::scratch(4, shape{1, n}).numbers(1));
  std::vector<float> x(n), g(n, 0.1F), scratch(room);
  for (std::size_t i = 0; i < n; ++i) x[i] = i % 4 == 0 ? 0.103F : 0.099F;
  double mean = 0, square = 0, sum_of_g = 0;
  for (const float e : x) mean += double{e} / n;
  for (const float e : x) square += (e - mean) * (e - mean) / n;
  for (const float e : g) sum_of_g += double{e};
  float half_mean, twice_scale, level, tilt, weight, bias;
  run_kernel<lang::row_moments_op<0.0>, float, array<shape{1, n}>>({&half_mean, &twice_scale, x.data()});
  BOOST_TEST(std::abs(2 * half_mean / mean - 1) <= epsilon<float>);
  BOOST_TEST(std::abs(twice_scale * std::sqrt(square) / 2 - 1) <= 1e-6);
  const std::vector<float> ones(n, 1), back(n, -0.5F), twice(n, 2);  // the normalized x is x + 1
  double sum_of_products = 0;
  for (const float e : x) sum_of_products += 0.1F * double{e + 1};
  using row = array<shape{1, n}>;
  using column = array<shape{n, 1}>;
  using one = array<shape{1, 1}>;
  run_kernel<lang::normalized_sums_op, float, row, row, one, one, array<shape{n}>>(
      {&level, &tilt, nullptr, nullptr, g.data(), x.data(), back.data(), twice.data(), ones.data(), scratch.data()});
  BOOST_TEST(std::abs(level * n / sum_of_g - 1) <= 1e-6);
  BOOST_TEST(std::abs(tilt * n / sum_of_products - 1) <= 1e-6);
  run_kernel<lang::normalized_sums_op, float, column, column, column, column, array<shape{1}>>(
      {nullptr, nullptr, &weight, &bias, g.data(), x.data(), back.data(), twice.data(), ones.data(), scratch.data()});
  BOOST_TEST(std::abs(weight / sum_of_products - 1) <= 1e-6);
  BOOST_TEST(std::abs(bias / sum_of_g - 1) <= 1e-6);
}
BOOST_AUTO_TEST_CASE(shared_by_threads) {
  check_moments<float, 1009, 611>(0, {1, 2, 3, 5});
  check_sums<float, 1409, 200>({1, 2, 3, 5});
}
BOOST_AUTO_TEST_CASE(moments_and_sums_of_bf16) {
  for_each(awkward{}, []<int Extent>() { check_halves<5, Extent>(); });
  check_halves<300, 133>(3);
  check_halves<1001, 67>(2);
}
BOOST_AUTO_TEST_CASE(rotary_embeddings) {
  for_each(sizes<1, 2, 3, 8, 15, 16, 17, 33>{}, []<int Half>() { check_rotary<float, 2, 3, 2, 2 * Half>(); });
  check_rotary<double, 3, 5, 1, 10>();
  check_rotary<float, 2, 97, 6, 64>(3);
}

BOOST_AUTO_TEST_SUITE_END()
