// Compares softmax and the losses based on it with plain loops. It also tests the registers that all kernels use.
#include "cairn/kernel/loss.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "../reference.hpp"
#include "kernel_check.hpp"

using cairn::shape, cairn::kernels::lanes;
using namespace kernel_check;

namespace {

// The number of elements inside an axis may be larger than an extent can be.
static_assert(cairn::kernels::around(shape{2, 1 << 16, 1 << 16}, 0).inner == std::int64_t{1} << 32);

// x - max is rounded before exp. Therefore the relative error of a result, in epsilons, is the distance of x from the
// maximum, which is at most 2 scale.
template <class Real>
void check_softmax_of(kernel_pointer softmax, kernel_pointer log_softmax, const shape& of, int axis, Real scale,
                      Real shift, std::initializer_list<int> each_number_of_threads) {
  auto in = numbers<Real>(of.count(), scale);
  for (Real& x : in) x += shift;
  auto expected = in, expected_log = in;
  reference::softmax(in.data(), expected.data(), of, axis);
  reference::log_softmax(in.data(), expected_log.data(), of, axis);
  const double roundings = 8 + std::sqrt(of[axis]) + 2 * double{scale};
  const auto relative = [&](std::int64_t i) {
    return roundings * epsilon<Real> * expected[static_cast<std::size_t>(i)] + std::numeric_limits<Real>::min();
  };
  const auto absolute = [&](std::int64_t) { return roundings * epsilon<Real>; };
  for (const int threads : each_number_of_threads) {
    guarded<Real> out(of.count()), in_place(in), log_out(of.count()), log_in_place(in);
    softmax({out.data(), in.data()}, threads);
    softmax({in_place.data(), in_place.data()}, threads);
    log_softmax({log_out.data(), in.data()}, threads);
    log_softmax({log_in_place.data(), log_in_place.data()}, threads);
    BOOST_TEST_CONTEXT("extents " << of[0] << " " << of[1] << " ... of rank " << of.rank << ", axis " << axis
                                  << ", threads " << threads) {
      BOOST_TEST(worst(out.data(), expected.data(), of.count(), relative) <= 1);
      BOOST_TEST(worst(in_place.data(), expected.data(), of.count(), relative) <= 1);
      BOOST_TEST(worst(log_out.data(), expected_log.data(), of.count(), absolute) <= 1);
      BOOST_TEST(worst(log_in_place.data(), expected_log.data(), of.count(), absolute) <= 1);
      for (const auto* buffer : {&out, &in_place, &log_out, &log_in_place}) BOOST_TEST(buffer->intact());
    }
  }
}
template <class Real, shape S, int Axis>
void check_softmax(Real scale, Real shift, std::initializer_list<int> each_number_of_threads = {1}) {
  check_softmax_of<Real>(&run_kernel<cairn::lang::softmax_op<Axis>, Real, array<S>>,
                         &run_kernel<cairn::lang::log_softmax_op<Axis>, Real, array<S>>, S, Axis, scale, shift,
                         each_number_of_threads);
}

/// Checks the slopes of softmax and log_softmax. The expected values come from shares in a wider type. In every third
/// line along the axis, one share is near 1.
template <class Real, shape S, int Axis, bool OfLog>
void check_slopes(std::initializer_list<int> each_number_of_threads = {1}) {
  using wide = long double;
  constexpr cairn::kernels::around_axis a = cairn::kernels::around(S, Axis);
  constexpr double roundings = OfLog ? 48 : 24;  // logs of shares, down to -25, are rounded
  const auto g = numbers<Real>(S.count());
  auto logits = numbers<Real>(S.count(), 3);
  std::vector<Real> y(g.size());
  std::vector<wide> expected(g.size()), bound(g.size());
  for (std::int64_t line = 0; line < a.outer * a.inner; ++line) {
    const auto at = [&](int k) {
      return static_cast<std::size_t>((line / a.inner * a.extent + k) * a.inner + line % a.inner);
    };
    if (line % 3 == 0) logits[at(a.extent / 2)] = 22;
    std::vector<wide> shares(static_cast<std::size_t>(a.extent));
    wide total = 0, level = 0, size = 0;
    for (int k = 0; k < a.extent; ++k)
      total += shares[static_cast<std::size_t>(k)] = std::exp(wide{logits[at(k)]} - wide{22});
    for (int k = 0; k < a.extent; ++k) {
      wide& share = shares[static_cast<std::size_t>(k)];
      share /= total;
      y[at(k)] = static_cast<Real>(OfLog ? std::log(share) : share);
      level += OfLog ? g[at(k)] : g[at(k)] * share;
      size += std::abs(OfLog ? g[at(k)] : g[at(k)] * share);
    }
    for (int k = 0; k < a.extent; ++k) {
      const wide share = shares[static_cast<std::size_t>(k)];
      wide others = 0, of_others = 0;  // sums over the other shares, which have digits where 1 - share has none
      for (int i = 0; i < a.extent; ++i) {
        const wide other = shares[static_cast<std::size_t>(i)], of_one = g[at(i)];
        if (i == k) continue;
        others += OfLog ? level * other - of_one : other * (level - of_one);
        of_others += OfLog ? size * other + std::abs(of_one) : other * (size + std::abs(of_one));
      }
      const wide own = g[at(k)];
      const wide direct = OfLog ? own - level * share : share * (own - level);
      const wide of_direct = OfLog ? std::abs(own) + size * share : share * (std::abs(own) + size);
      const bool certain = share > 0.75L;
      expected[at(k)] = certain ? others : direct;
      bound[at(k)] = roundings * epsilon<Real> * (certain ? of_others : of_direct) + std::numeric_limits<Real>::min();
    }
  }
  for (const int threads : each_number_of_threads) {
    guarded<Real> out(S.count()), in_place(g);
    constexpr kernel_pointer slope = &run_kernel<cairn::lang::softmax_slope_op<Axis, OfLog>, Real, array<S>, array<S>>;
    slope({out.data(), g.data(), y.data()}, threads);
    slope({in_place.data(), in_place.data(), y.data()}, threads);
    double most = 0;
    for (std::size_t i = 0; i < g.size(); ++i)
      most = worse(most, static_cast<double>(std::abs(out.data()[i] - expected[i]) / bound[i]));
    BOOST_TEST_CONTEXT("extents " << S[0] << " " << S[1] << " of rank " << S.rank << ", axis " << Axis << ", log "
                                  << OfLog << ", threads " << threads) {
      BOOST_TEST(most <= 1);
      BOOST_TEST(std::equal(out.data(), out.data() + S.count(), in_place.data()));
      BOOST_TEST((out.intact() && in_place.intact()));
    }
  }
}

template <class Real, class Extents>
void check_softmaxes() {
  for_each(Extents{}, []<int Extent>() {
    check_softmax<Real, shape{3, Extent}, 1>(5, 0);
    check_softmax<Real, shape{5, Extent}, 0>(5, -1000);
    check_softmax<Real, shape{2, Extent, 3}, 1>(5, 1000);
    check_slopes<Real, shape{5, Extent}, 1, false>();
    check_slopes<Real, shape{5, Extent}, 1, true>();
    check_slopes<Real, shape{Extent, 5}, 0, true>();
    check_slopes<Real, shape{2, Extent, 3}, 1, false>();
  });
}

/// The kernel of an operation on logits {N, C} and labels.
template <class Op, class Real, int N, int C>
constexpr kernel_pointer of_labels = &run_kernel<Op, Real, array<shape{N, C}>, array<shape{N}, cairn::index_below(C)>>;

struct losses {
  kernel_pointer error, mean, accuracy, of_rows, label_logit;
};
// In every third row, the logit of the label is the largest.
template <class Real>
void check_losses_of(const losses& run, int rows, int classes, std::initializer_list<int> each_number_of_threads) {
  const std::int64_t count = std::int64_t{rows} * classes;
  const auto at = [&](std::size_t row, std::int32_t column) {
    return row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(column);
  };
  auto logits = numbers<Real>(count, 4);
  const auto label = labels(rows, classes);
  for (std::size_t row = 0; row < label.size(); row += 3) logits[at(row, label[row])] = 4;
  auto expected = logits;
  reference::softmax_error(logits.data(), label.data(), expected.data(), rows, classes);
  const Real loss = reference::cross_entropy(logits.data(), label.data(), rows, classes);
  const Real accuracy = reference::accuracy(logits.data(), label.data(), rows, classes);
  const auto bound = [&](std::int64_t) { return (16 + std::sqrt(classes)) * epsilon<Real>; };
  for (const int threads : each_number_of_threads) {
    guarded<Real> error(count), in_place(logits), got_loss(1), got_accuracy(1), row_loss(rows), label_logit(rows);
    run.error({error.data(), logits.data(), label.data()}, threads);
    run.error({in_place.data(), in_place.data(), label.data()}, threads);
    run.mean({got_loss.data(), logits.data(), label.data()}, threads);
    run.accuracy({got_accuracy.data(), logits.data(), label.data()}, threads);
    run.of_rows({row_loss.data(), logits.data(), label.data()}, threads);
    run.label_logit({label_logit.data(), logits.data(), label.data()}, threads);
    const auto mean_loss = static_cast<Real>(std::accumulate(row_loss.data(), row_loss.data() + rows, 0.0) / rows);
    BOOST_TEST_CONTEXT("rows " << rows << " classes " << classes << " threads " << threads) {
      BOOST_TEST(worst(error.data(), expected.data(), count, bound) <= 1);
      BOOST_TEST(worst(in_place.data(), expected.data(), count, bound) <= 1);
      BOOST_TEST(worst(got_loss.data(), &loss, 1, bound) <= 1);
      BOOST_TEST(worst(&mean_loss, &loss, 1, bound) <= 1);  // also equal to the mean of the losses of single rows
      for (std::size_t row = 0; row < label.size(); ++row)
        BOOST_TEST(label_logit.data()[row] == logits[at(row, label[row])]);
      BOOST_TEST(*got_accuracy.data() == accuracy);
      for (const auto* buffer : {&error, &in_place, &got_loss, &got_accuracy, &row_loss, &label_logit})
        BOOST_TEST(buffer->intact());
    }
  }
}
template <class Real, int N, int C>
void check_losses(std::initializer_list<int> each_number_of_threads = {1}) {
  check_losses_of<Real>(
      {of_labels<cairn::lang::softmax_error_op, Real, N, C>, of_labels<cairn::lang::cross_entropy_op, Real, N, C>,
       of_labels<cairn::lang::accuracy_op, Real, N, C>, of_labels<cairn::lang::row_cross_entropy_op, Real, N, C>,
       of_labels<cairn::lang::label_logit_op, Real, N, C>},
      N, C, each_number_of_threads);
}

template <class Real>
void check_shared_softmaxes() {
  check_softmax<Real, shape{263, 133}, 1>(5, 0, {1, 2, 3, 5});
  check_softmax<Real, shape{3, 11677}, 1>(5, 0, {1, 2, 3, 5});
  check_softmax<Real, shape{1, 35023}, 1>(5, 0, {1, 2, 3, 5});
  check_softmax<Real, shape{5, 7001}, 0>(5, 0, {1, 2, 3, 5});
  check_softmax<Real, shape{3, 71, 167}, 1>(5, 0, {1, 2, 3, 5});
  check_slopes<Real, shape{263, 133}, 1, false>({1, 2, 3, 5});
  check_slopes<Real, shape{71, 2001}, 0, true>({1, 2, 3, 5});
}

// Computes a formula on registers for one number.
template <class Real, class Formula>
Real alone(Formula formula, Real x) {
  Real out[lanes<Real>::width];
  auto register_of_x = lanes<Real>::fill(x);
  barrier(register_of_x);  // otherwise the compiler would compute the formula itself
  formula(register_of_x).store(out);
  return out[lanes<Real>::width - 1];
}

template <class Real>
void check_functions() {
  const auto near = [](auto formula, auto exact, Real x, double roundings) {
    const double y = exact(double{x});
    BOOST_TEST_CONTEXT("x " << x)
    BOOST_TEST(std::abs(double{alone<Real>(formula, x)} - y) <= roundings * epsilon<Real> * std::abs(y));
  };
  for (const Real magnitude : {Real(1e-20), Real(1e-6), Real(1e-3), Real(0.1), Real(0.6), Real(1.7), Real(9), Real(40)})
    for (const Real x : {magnitude, -magnitude}) {
      near([](auto v) { return exp(v); }, [](double v) { return std::exp(v); }, x, 2);
      near([](auto v) { return tanh(v); }, [](double v) { return std::tanh(v); }, x, 4);
      near([](auto v) { return erf(v); }, [](double v) { return std::erf(v); }, x, 64);
      near([](auto v) { return log(abs(v)); }, [](double v) { return std::log(std::abs(v)); }, x, 4);
      near([](auto v) { return sqrt(abs(v)); }, [](double v) { return std::sqrt(std::abs(v)); }, x, 2);
    }
  const auto e = [](auto v) { return exp(v); };
  BOOST_TEST(alone<Real>(e, -1000) == 0);
  BOOST_TEST(alone<Real>(e, -infinity<Real>) == 0);
  BOOST_TEST(alone<Real>(e, 1000) == infinity<Real>);
  BOOST_TEST(alone<Real>(e, infinity<Real>) == infinity<Real>);
  BOOST_TEST(std::isnan(alone<Real>(e, no_number<Real>)));
  BOOST_TEST(std::isnan(alone<Real>([](auto v) { return tanh(v); }, no_number<Real>)));
  BOOST_TEST(std::isnan(alone<Real>([](auto v) { return max(lanes<Real>::fill(1), v); }, no_number<Real>)));
}

// (1 + u)^2 - 1 - 2u is u^2. It is zero if the square has been rounded.
template <class Real>
void check_roundings() {
  const Real u = std::numeric_limits<Real>::epsilon();
  const auto rounded_twice = [&](auto x) { return x * x + lanes<Real>::fill(-1 - 2 * u); };
  BOOST_TEST(alone<Real>(rounded_twice, 1 + u) == 0);
#ifdef __FMA__
  const auto rounded_once = [&](auto x) { return fused(x, x, lanes<Real>::fill(-1 - 2 * u)); };
  BOOST_TEST(alone<Real>(rounded_once, 1 + u) == u * u);
#endif
}

template <class Real>
void check_parts() {
  constexpr int width = lanes<Real>::width;
  const auto values = numbers<Real>(width);
  Real total = 0, most = -2;
  for (int n = 0; n < width; ++n) {
    const std::vector<Real> part(values.begin(), values.begin() + n);
    guarded<Real> zeros(width), rest(width), stored(n);
    lanes<Real>::load(part.data(), n).store(zeros.data());
    lanes<Real>::load(part.data(), n, 7).store(rest.data());
    lanes<Real>::load(values.data()).store(stored.data(), n);
    for (int i = 0; i < width; ++i) {
      BOOST_TEST(zeros.data()[i] == (i < n ? values[static_cast<std::size_t>(i)] : 0));
      BOOST_TEST(rest.data()[i] == (i < n ? values[static_cast<std::size_t>(i)] : 7));
      if (i < n) BOOST_TEST(stored.data()[i] == values[static_cast<std::size_t>(i)]);
    }
    BOOST_TEST(stored.intact());
    total += values[static_cast<std::size_t>(n)];
    most = std::max(most, values[static_cast<std::size_t>(n)]);
  }
  BOOST_TEST(std::abs(sum(lanes<Real>::load(values.data())) - total) <= 2 * width * epsilon<Real>);
  BOOST_TEST(largest(lanes<Real>::load(values.data())) == most);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_softmax)

BOOST_AUTO_TEST_CASE(softmax_in_float) { check_softmaxes<float, awkward>(); }
BOOST_AUTO_TEST_CASE(softmax_in_double) { check_softmaxes<double, few>(); }

BOOST_AUTO_TEST_CASE(losses) {
  for_each(awkward{}, []<int Extent>() { check_losses<float, 5, Extent>(); });
  for_each(few{}, []<int Extent>() { check_losses<double, Extent, 10>(); });
}

BOOST_AUTO_TEST_CASE(shared_by_threads) {
  check_shared_softmaxes<float>();
  check_shared_softmaxes<double>();
  check_losses<float, 1009, 179>({1, 2, 3, 5});
  check_losses<float, 65, 2699>({1, 2, 3, 5});
  check_losses<float, 63, 2801>({1, 2, 3, 5});
  check_losses<float, 3, 58511>({1, 2, 3, 5});
}

// The sum is in double, because rounding to float would hide a change in the order of the sum.
BOOST_AUTO_TEST_CASE(sum_of_losses_does_not_depend_on_threads) {
  constexpr int rows = 1009, classes = 179;
  const auto logits = numbers<double>(rows * classes, 4);
  const auto label = labels(rows, classes);
  double alone = 0;
  constexpr kernel_pointer loss = of_labels<cairn::lang::cross_entropy_op, double, rows, classes>;
  loss({&alone, logits.data(), label.data()}, 1);
  for (const int threads : {2, 3, 5}) {
    double together = 0;
    loss({&together, logits.data(), label.data()}, threads);
    BOOST_TEST(together == alone);
  }
}

// Scores far from zero and from each other, masked scores, and rows of one score. A row that is masked completely
// becomes NaN, as in PyTorch.
template <class Real>
void check_extreme_scores() {
  constexpr int classes = 19;
  constexpr Real far = 10000;
  std::vector<Real> in(4 * classes, -far);
  for (int j = 0; j < classes; ++j) {
    in[static_cast<std::size_t>(classes + j)] = far;
    in[static_cast<std::size_t>(2 * classes + j)] = j == 3 ? far : j == 4 ? -infinity<Real> : -far;
    in[static_cast<std::size_t>(3 * classes + j)] = -infinity<Real>;
  }
  guarded<Real> shares(4 * classes), logs(4 * classes), losses(4), errors(4 * classes);
  run_kernel<cairn::lang::softmax_op<-1>, Real, array<shape{4, classes}>>({shares.data(), in.data()});
  run_kernel<cairn::lang::log_softmax_op<-1>, Real, array<shape{4, classes}>>({logs.data(), in.data()});
  const std::int32_t label[]{3, 3, 5, 3};
  constexpr kernel_pointer loss = of_labels<cairn::lang::row_cross_entropy_op, Real, 4, classes>;
  constexpr kernel_pointer error = of_labels<cairn::lang::softmax_error_op, Real, 4, classes>;
  loss({losses.data(), in.data(), label}, 1);
  error({errors.data(), in.data(), label}, 1);
  for (int j = 0; j < classes; ++j) {
    const auto at = [j](guarded<Real>& of, int row) { return of.data()[row * classes + j]; };
    for (const int row : {0, 1}) {
      BOOST_TEST(std::abs(at(shares, row) - Real{1} / classes) <= 4 * epsilon<Real>);
      BOOST_TEST(std::abs(at(logs, row) + std::log(Real{classes})) <= 8 * epsilon<Real>);
    }
    BOOST_TEST(at(shares, 2) == (j == 3 ? 1 : 0));
    BOOST_TEST(at(logs, 2) == (j == 3 ? 0 : j == 4 ? -infinity<Real> : -2 * far));
    BOOST_TEST(at(errors, 2) == (j == 3 ? 1 : j == 5 ? -1 : 0));
    BOOST_TEST((std::isnan(at(shares, 3)) && std::isnan(at(logs, 3)) && std::isnan(at(errors, 3))));
  }
  BOOST_TEST(std::abs(losses.data()[1] - std::log(Real{classes})) <= 8 * epsilon<Real>);
  BOOST_TEST(losses.data()[2] == 2 * far);
  BOOST_TEST(std::isnan(losses.data()[3]));
  Real one = 7;
  for (const Real x : {far, -far, Real{0}}) {
    run_kernel<cairn::lang::softmax_op<-1>, Real, array<shape{1, 1}>>({&one, &x});
    BOOST_TEST(one == 1);
  }
}
BOOST_AUTO_TEST_CASE(extreme_scores) {
  check_extreme_scores<float>();
  check_extreme_scores<double>();
}

// Among equal logits, the first counts.
BOOST_AUTO_TEST_CASE(accuracy_of_ties) {
  const float logits[] = {1, 3, 3, 0, 2, 2, 2, 1, 0, -1, -1, -2};
  const std::int32_t first[] = {1, 0, 0}, second[] = {2, 1, 1};
  float all = -1, none = -1;
  constexpr kernel_pointer accuracy = of_labels<cairn::lang::accuracy_op, float, 3, 4>;
  accuracy({&all, logits, first}, 1);
  accuracy({&none, logits, second}, 1);
  BOOST_TEST(all == 1);
  BOOST_TEST(none == 0);
}

BOOST_AUTO_TEST_CASE(functions_on_registers) {
  check_functions<float>();
  check_functions<double>();
}
BOOST_AUTO_TEST_CASE(fused_multiply_adds_round_once) {
  check_roundings<float>();
  check_roundings<double>();
}
BOOST_AUTO_TEST_CASE(parts_of_registers) {
  check_parts<float>();
  check_parts<double>();
}

/// If the softmax rounds to 1, the error of the label is minus the sum of the other shares.
BOOST_AUTO_TEST_CASE(the_error_of_a_confident_label) {
  const std::vector<float> logits{20, 0, 1, -1, 0.5F};
  const std::vector<std::int32_t> labels{0};
  std::vector<float> out(5);
  cairn::kernels::softmax_error(cairn::kernels::labelled_rows<float>{logits.data(), labels.data(), 1, 5}, out.data());
  double others = 0;
  for (const double logit : {0.0, 1.0, -1.0, 0.5}) others += std::exp(logit - 20);
  BOOST_TEST(std::abs(static_cast<double>(out[0]) / (-others / (1 + others)) - 1) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
