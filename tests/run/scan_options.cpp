// Scans in programs with options, on threads, and in predictors.
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cairn/boost_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cairn/report/tables.hpp>
#include <cmath>
#include <vector>

using namespace cairn;

namespace {

constexpr int T = 7, rows = 6, width = 8;
constexpr auto xs = input<"xs", T, rows, width>;
constexpr auto cell = [](auto h, auto x, auto a) {
  const auto z = x * a * param<"scale", width> + (h | nn::linear<"hidden", width>);
  return std::tuple{tanh(z), square(z)};
};
template <class Policy>
constexpr auto results =
    scan<T, "step", Policy>(cell, carried(zeros<rows, width>), each(xs), softmax(param<"a", width>));
/// Parameters of the scan are also read before and after it. One of these gradients is also the gradient of another
/// parameter.
template <class Policy>
constexpr auto loss = mean(square(std::get<0>(results<Policy>) | shared(nn::linear<"step.hidden", width>))) +
                      mean(std::get<1>(results<Policy>)) + mean(square(param<"step.hidden.weight", width, width>)) +
                      mean(param<"step.scale", width> + param<"other", width>);

template <class Policy>
constexpr auto two_collected = [] {
  const auto [h, a, b] = scan<T, "step", Policy>(
      [](auto h, auto x) {
        const auto z = matmul(h, param<"w", width, width>) + x;
        return std::tuple{tanh(z), exp(z), sigmoid(z * 0.5_c)};
      },
      carried(zeros<rows, width>), each(xs));
  return mean(h) + mean(a) + mean(b);
}();
template <class Policy, bool Collects>
constexpr auto two_dropped = [] {
  const auto made = scan<T, "step", Policy>(
      [](auto h, auto x) {
        const auto a = tanh(h + x);
        const auto b = sigmoid(h * 0.5_c);
        const auto next = matmul(a, param<"v", width, width>) + matmul(b, param<"w", width, width>);
        if constexpr (Collects) return std::tuple{next, a, b};
        else return std::tuple{next};
      },
      carried(zeros<rows, width>), each(xs));
  if constexpr (Collects) return mean(square(std::get<0>(made)));
  else return mean(square(made));
}();
template <class Policy>
constexpr auto two_slices = mean(square(scan<T, "step", Policy>(
    [](auto h, auto a, auto b) {
      return tanh(matmul(h, param<"v", width, width>) + a) + sin(matmul(h, param<"w", width, width>) + b);
    },
    carried(zeros<rows, width>), each(xs * param<"a", width>, xs * param<"b", width>))));
template <class Policy>
constexpr auto slices_written_over = mean(square(scan<T, "step", Policy>(
    [](auto h, auto a, auto b) {
      const auto through = [&](auto x, auto w) { return tanh(softmax(x) + matmul(h, w)); };
      return through(a, param<"v", width, width>) * through(b, param<"w", width, width>);
    },
    carried(zeros<rows, width> + 0.5_c), each(xs * param<"a", width>, xs * param<"b", width>))));
/// One result is written over the value from which another result is computed. One gradient is written over in this
/// way, too.
template <class Policy, bool Collects>
constexpr auto written_over = [] {
  const auto made = scan<T, "step", Policy>(
      [](auto h, auto i) {
        const auto e = gather<0>(param<"table", T, width>, i);
        const auto next = tanh(h + e);
        if constexpr (Collects) return std::tuple{next, argmax<-1>(e), e * 2_c};
        else return std::tuple{next};
      },
      carried(mean<0, 1>(xs) * param<"first", width>), each(arange<T>));
  if constexpr (Collects) return mean(square(std::get<0>(made)));
  else return mean(square(made));
}();
/// One value is collected twice, and the second copy is read.
template <class Policy, int Which>
constexpr auto twice_collected = mean(square(std::get<Which>(scan<T, "step", Policy>(
    [](auto h, auto x) {
      const auto z = matmul(h, param<"v", width, width>) + x;
      const auto e = sin(x * 0.5_c);
      return std::tuple{tanh(z), e, argmax<-1>(matmul(z, param<"w", width, width>)), e};
    },
    carried(zeros<rows, width>), each(xs * param<"a", width>)))));

// A value is two arguments of the scan, and a parameter is an argument and also a parameter of the body.
constexpr auto several_roles = [] {
  const auto h = tanh(mean<0, 1>(input<"xs", T, rows, width>) * param<"p", width>);
  return sum(
      square(scan<3, "step">([](auto carry, auto same, auto w) { return tanh(carry * w + same * param<"/w", width>); },
                             carried(h), h, param<"/w", width>)));
}();

template <auto Loss, class... Options>
std::vector<double> gradients_after(int steps) {
  program<Loss, real<double>, Options...> step;
  step.init(seed{1});
  const std::vector<double> x(T * rows * width, 0.3);
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) all = {step.value_and_grad(bind<"xs">(x))};
  step.for_each_gradient([&](std::string_view, auto g) { all.insert(all.end(), g.data(), g.data() + g.size()); });
  return all;
}

// One iteration has enough work for several threads.
constexpr int many = 300, wide = 400;
constexpr auto large = mean(square(
    scan<3, "step", revolve<2>>([](auto h) { return tanh(matmul(h, param<"w", wide, wide>) + param<"b", wide>); },
                                carried(input<"h", many, wide>))));
template <int Threads>
std::vector<float> on_threads() {
  program<large, threads<Threads>> step;
  step.init(seed{1});
  const std::vector<float> h(many * wide, 0.1F);
  std::vector<float> all{step.value_and_grad(bind<"h">(h))};
  step.for_each_gradient([&](std::string_view, auto g) { all.insert(all.end(), g.data(), g.data() + g.size()); });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scan_options)

BOOST_AUTO_TEST_CASE(gradients_follow_finite_differences) {
  const std::vector<double> x(T * rows * width, 0.3);
  BOOST_TEST((gradcheck<loss<store_all>, wrt<"xs">>(seed{1}, bind<"xs">(x)).relative) < 1e-6);
  BOOST_TEST((gradcheck<loss<two_level<3, 2>>, wrt<"xs">>(seed{1}, bind<"xs">(x)).relative) < 1e-6);
}
BOOST_AUTO_TEST_CASE(all_policies_have_the_same_gradient) {
  const auto expected = gradients_after<loss<store_all>>(1);
  BOOST_TEST((gradients_after<loss<revolve<3>>>(1) == expected));
  BOOST_TEST((gradients_after<loss<revolve<3>>, plain>(1) == expected));
  // Two training steps that accumulate gradients, and a scan with a frozen parameter.
  auto twice = gradients_after<loss<revolve<3>>, accumulate_gradients>(2);
  const auto frozen = gradients_after<loss<revolve<3>>, freeze<"step">>(1);
  BOOST_TEST(twice.size() == expected.size());
  for (std::size_t i = 1; i < twice.size(); ++i) BOOST_TEST(std::abs(twice[i] - 2 * expected[i]) < 1e-12);
  BOOST_TEST(frozen.size() == 1 + 2 * width);  // of a and of other
  for (const double x : frozen) BOOST_TEST(std::ranges::count(expected, x) > 0);
}
BOOST_AUTO_TEST_CASE(accumulated_gradients_of_values_in_several_roles) {
  const auto once = gradients_after<several_roles>(1), twice = gradients_after<several_roles, accumulate_gradients>(2);
  BOOST_TEST(twice.size() == 1 + 2 * width);
  for (std::size_t i = 1; i < twice.size(); ++i) BOOST_TEST(std::abs(twice[i] - 2 * once[i]) < 1e-12);
}
BOOST_AUTO_TEST_CASE(planned_bytes_are_touched) {
  const std::vector<float> x(T * rows * width, 0.3F);
  const auto touched = [&](auto step) {
    step.init(seed{1});
    BOOST_TEST(report::touched_bytes(step, bind<"xs">(x)) == step.memory().peak_bytes);
  };
  touched(program<loss<store_all>>{});
  touched(program<loss<revolve<3>>>{});
  touched(program<loss<two_level<3, 2>>>{});
  touched(program<loss<segment_every<3>>>{});
  touched(program<loss<revolve<3>>, freeze<"step">>{});
}
BOOST_AUTO_TEST_CASE(results_that_only_the_scan_itself_reads) {
  // Two results are collected and read in the backward pass. In another scan, they are collected in vain and read in
  // the iteration itself. Two slices have gradients that are read, although they are not asked for.
  const auto collected = gradients_after<two_collected<store_all>>(1);
  BOOST_TEST((gradients_after<two_collected<revolve<2>>>(1) == collected));
  BOOST_TEST((gradients_after<two_collected<two_level<3, 1>>>(1) == collected));
  BOOST_TEST((gradients_after<two_collected<segment_every<3>>>(1) == collected));
  const auto dropped = gradients_after<two_dropped<store_all, false>>(1);
  BOOST_TEST((gradients_after<two_dropped<store_all, true>>(1) == dropped));
  BOOST_TEST((gradients_after<two_dropped<revolve<2>, true>>(1) == dropped));
  const auto uncollected = gradients_after<written_over<store_all, false>>(1);
  BOOST_TEST((gradients_after<written_over<store_all, true>>(1) == uncollected));
  BOOST_TEST((gradients_after<written_over<revolve<2>, true>>(1) == uncollected));
  BOOST_TEST((gradients_after<written_over<two_level<3, 1>, true>>(1) == uncollected));
  BOOST_TEST((gradients_after<written_over<segment_every<3>, true>>(1) == uncollected));
  const auto first = gradients_after<twice_collected<store_all, 1>>(1);
  BOOST_TEST((gradients_after<twice_collected<store_all, 3>>(1) == first));
  BOOST_TEST((gradients_after<twice_collected<revolve<2>, 3>>(1) == first));
  BOOST_TEST((gradients_after<twice_collected<segment_every<3>, 3>>(1) == first));
  const auto unasked = [](const std::vector<double>& asked, const std::vector<double>& frozen) {
    BOOST_TEST(frozen.size() == 1 + 2 * width * width);
    for (const double x : frozen) BOOST_TEST(std::ranges::count(asked, x) > 0);
  };
  unasked(gradients_after<two_slices<store_all>>(1), gradients_after<two_slices<store_all>, freeze<"a", "b">>(1));
  unasked(gradients_after<slices_written_over<store_all>>(1),
          gradients_after<slices_written_over<store_all>, freeze<"a", "b">>(1));
}
BOOST_AUTO_TEST_CASE(a_body_may_have_many_results) {
  constexpr auto loop = []<std::size_t... I>(std::index_sequence<I...>) {
    return scan<3, "step">([](auto h) { return std::tuple{tanh(h), (static_cast<void>(I), h)...}; },
                           carried(param<"h", 2>));
  }(std::make_index_sequence<70>{});
  BOOST_TEST((gradcheck<sum(std::get<70>(loop)) + sum(std::get<0>(loop))>(seed{1}).relative) < 1e-6);
}
BOOST_AUTO_TEST_CASE(a_predictor_runs_scans) {
  program<loss<revolve<2>>> step;
  step.init(seed{1});
  predictor<loss<revolve<2>>> predict{step};
  const std::vector<float> x(T * rows * width, 0.3F);
  const float value = predict(bind<"xs">(x));
  BOOST_TEST(value == step.value_and_grad(bind<"xs">(x)));
  BOOST_TEST((predict.loops() == loop_counts{T, 0, 0}));
}
BOOST_AUTO_TEST_CASE(gradients_in_the_forward_pass) {
  // First-order gradients are values of the model. A predictor can compute a slope in this way.
  constexpr auto y = scan<T, "step", revolve<2>>([](auto h) { return sin(h) * 1.1_c; }, carried(input<"x", 5>));
  program<sum(square(param<"x", 5>))> nothing;
  nothing.init(seed{1});
  predictor<outputs(grad(sum(y), input<"x", 5>), y), real<float>> slope{nothing};
  const std::vector<float> x{0.1F, -0.2F, 0.3F, 0.4F, 1.0F};
  const auto [slopes, values] = slope(bind<"x">(x));
  for (std::size_t i = 0; i < 5; ++i) {
    double at = x[i], expected = 1;
    for (int t = 0; t < T; ++t) {
      expected *= 1.1 * std::cos(at);
      at = 1.1 * std::sin(at);
    }
    BOOST_TEST(std::abs(static_cast<double>(slopes(i)) - expected) < 1e-5);
    BOOST_TEST(std::abs(static_cast<double>(values(i)) - at) < 1e-5);
  }
}
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(threads_change_no_bit) {
  omp_set_num_threads(3);
  const auto expected = on_threads<1>();
  BOOST_TEST((on_threads<3>() == expected));
  omp_set_num_threads(2);  // fewer threads than the plan has workspaces for
  BOOST_TEST((on_threads<3>() == expected));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
