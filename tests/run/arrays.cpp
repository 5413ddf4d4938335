// Views of static shape, and the views that xtensor and Eigen have of the same memory. accepts.py tests std::mdspan.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/eigen.hpp>
#include <cairn/xtensor.hpp>
#include <numeric>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

using namespace cairn;

namespace {

constexpr auto x = input<"x", 4, 3>;
constexpr auto logits = x | nn::linear<"fc", 2>;
constexpr auto loss = mean(square(logits) * param<"scale">);
using train_step = program<outputs(loss, logits), wrt<"x">>;

constexpr std::array<float, 12> numbers{1, -2, 3, 0.5, 0.25, -1, 2, 2, -3, 0, 1, 0};

template <class View, std::size_t... Extent>
constexpr bool has_extents = std::is_same_v<typename View::shape_type, xt::xshape<Extent...>>;

}  // namespace

BOOST_AUTO_TEST_SUITE(arrays)

BOOST_AUTO_TEST_CASE(views_of_a_program_have_static_shapes) {
  train_step step;
  step.init(seed{3});
  predictor<logits> predict{step};
  const auto [l, result] = step.value_and_grad(bind<"x">(numbers));
  static_assert(std::is_same_v<decltype(step.param<"fc.weight">()), static_view<float, shape{2, 3}>>);
  static_assert(std::is_same_v<decltype(step.grad<"x">()), static_view<float, shape{4, 3}>>);
  static_assert(std::is_same_v<decltype(std::as_const(step).grad<"x">()), static_view<const float, shape{4, 3}>>);
  static_assert(std::is_same_v<decltype(result), const static_view<float, shape{4, 2}>>);
  static_assert(std::is_same_v<decltype(predict(bind<"x">(numbers))), static_view<float, shape{4, 2}>>);
  static_assert(std::ranges::view<decltype(step.grad<"x">())> && std::ranges::borrowed_range<decltype(result)>);
  BOOST_TEST((step.param<"fc.weight">().shape() == std::array<std::size_t, 2>{2, 3}));
  const tensor_view<const float, 2> of_any_shape = step.param<"fc.weight">();
  BOOST_TEST(of_any_shape.data() == step.param<"fc.weight">().data());
  std::size_t count = 0;
  step.for_each_parameter([&](std::string_view, auto view) {
    BOOST_TEST(decltype(view)::extents.count() == static_cast<std::int64_t>(view.size()));
    count += view.size();
  });
  BOOST_TEST(count == 9U);
}

BOOST_AUTO_TEST_CASE(a_range_becomes_a_view_of_static_shape) {
  std::vector<float> twelve(numbers.begin(), numbers.end());
  const auto view = static_view_of<shape(2, 3, 2)>(twelve);
  static_assert(std::is_same_v<decltype(view), const static_view<float, shape{2, 3, 2}>>);
  view(1, 2, 1) = 7;
  BOOST_TEST(twelve.back() == 7);
  static_assert(
      std::is_same_v<decltype(static_view_of<x.shape>(std::as_const(twelve))), static_view<const float, x.shape>>);
  BOOST_TEST(&static_view_of<shape(4, 3)>(view)(1, 0) == &view(0, 1, 1));
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(static_view_of<shape(4, 2)>(twelve)), extent_error, [](const extent_error& e) {
        return e.what() == std::string("cairn: argument of 'static_view_of': expected {4, 2}, got {12}");
      });
}

BOOST_AUTO_TEST_CASE(xtensor_reads_and_writes_parameters) {
  train_step step;
  step.init(seed{3});
  const auto own = step.param<"fc.weight">();
  auto w = as_xtensor(own);
  static_assert(has_extents<decltype(as_xtensor(own)), 2, 3>);
  static_assert(std::is_same_v<decltype(w), decltype(xt::adapt(own.data(), xt::xshape<2, 3>()))>);
  BOOST_TEST(w.data() == own.data());
  w = xt::xtensor_fixed<float, xt::xshape<2, 3>>{{1, 2, 3}, {4, 5, 6}};
  BOOST_TEST(own(1, 0) == 4);
  w = 2 * w + 1;
  BOOST_TEST(own(1, 0) == 9);
  xt::view(w, 1, xt::all()) = 0;
  BOOST_TEST((std::ranges::equal(own, std::array{3, 5, 7, 0, 0, 0})));
  own(1, 2) = 5;
  BOOST_TEST(w(1, 2) == 5);
  BOOST_TEST(xt::sum(w)() == 20);
  BOOST_TEST(w.data() == own.data());

  const auto scale = as_xtensor(step.param<"scale">());
  static_assert(has_extents<decltype(as_xtensor(step.param<"scale">()))>);
  BOOST_TEST(scale.dimension() == 0U);
  BOOST_TEST(&scale() == step.param<"scale">().data());

  const auto constant = as_xtensor(std::as_const(step).param<"fc.bias">());
  static_assert(std::is_const_v<std::remove_reference_t<decltype(constant(0))>>);
  BOOST_TEST(constant.data() == step.param<"fc.bias">().data());
}

// xtensor computes the result x w^T + b, and the gradients of mean((x w^T + b)^2 s).
BOOST_AUTO_TEST_CASE(xtensor_reads_gradients_results_and_inputs) {
  train_step step;
  step.init(seed{3});
  const auto [l, result] = step.value_and_grad(bind<"x">(numbers));
  const auto given = as_xtensor(static_view_of<x.shape>(numbers));
  static_assert(has_extents<decltype(as_xtensor(static_view_of<x.shape>(numbers))), 4, 3>);
  BOOST_TEST(given.data() == numbers.data());
  const auto w = as_xtensor(step.param<"fc.weight">());
  const auto b = as_xtensor(step.param<"fc.bias">());
  const auto y = as_xtensor(result);
  const auto gw = as_xtensor(step.grad<"fc.weight">());
  const auto gb = as_xtensor(step.grad<"fc.bias">());
  const auto gx = as_xtensor(step.grad<"x">());
  static_assert(has_extents<decltype(as_xtensor(result)), 4, 2>);
  BOOST_TEST(y.data() == result.data());
  BOOST_TEST(gw.data() == step.grad<"fc.weight">().data());
  const float scale = step.param<"scale">()();
  const xt::xtensor_fixed<float, xt::xshape<4, 2>> wanted =
      xt::sum(xt::view(given, xt::all(), xt::newaxis(), xt::all()) * w, 2) + b;
  const xt::xtensor_fixed<float, xt::xshape<4, 2>> g = wanted * (scale / 4);
  const xt::xtensor_fixed<float, xt::xshape<2, 3>> wanted_gw = xt::sum(
      xt::view(g, xt::all(), xt::all(), xt::newaxis()) * xt::view(given, xt::all(), xt::newaxis(), xt::all()), 0);
  const xt::xtensor_fixed<float, xt::xshape<4, 3>> wanted_gx =
      xt::sum(xt::view(g, xt::all(), xt::all(), xt::newaxis()) * w, 1);
  BOOST_TEST(xt::amax(xt::abs(y - wanted))() < 1e-5F);
  BOOST_TEST(xt::amax(xt::abs(gw - wanted_gw))() < 1e-5F);
  BOOST_TEST(xt::amax(xt::abs(gx - wanted_gx))() < 1e-5F);
  BOOST_TEST(xt::amax(xt::abs(gb - xt::sum(g, 0)))() < 1e-5F);
  BOOST_TEST(xt::amax(xt::abs(gw))() > 0.01F);
}

BOOST_AUTO_TEST_CASE(xtensor_containers_and_views_are_bound_if_they_fit) {
  train_step step;
  step.init(seed{3});
  predictor<logits> predict{step};
  const std::vector<float> expected = [&] {
    const auto y = predict(bind<"x">(numbers));
    return std::vector<float>(y.begin(), y.end());
  }();
  const auto gives_expected = [&](const auto& array) {
    return std::ranges::equal(predict(bind<"x">(array)), expected);
  };
  const auto is_refused = [&](const auto& array, const std::string& wanted, const std::string& given) {
    BOOST_CHECK_EXCEPTION(predict(bind<"x">(array)), extent_error,
                          [&](const extent_error& e) { return e.expected == wanted && e.actual == given; });
  };
  xt::xtensor_fixed<float, xt::xshape<4, 3>> fixed;
  std::ranges::copy(numbers, fixed.begin());
  xt::xtensor<float, 2> tall = xt::zeros<float>({9, 3}), wide = xt::zeros<float>({4, 6});
  std::ranges::copy(numbers, tall.begin() + 6);
  BOOST_TEST(gives_expected(fixed));
  BOOST_TEST(gives_expected(as_xtensor(static_view_of<x.shape>(numbers))));
  BOOST_TEST(gives_expected(xt::view(tall, xt::range(2, 6), xt::all())));
  const std::string contiguous = "a contiguous row-major array";
  is_refused(xt::view(wide, xt::all(), xt::range(0, 3)), contiguous, "other strides");
  is_refused(xt::view(tall, xt::range(0, 8, 2), xt::all()), contiguous, "other strides");
  is_refused(xt::xtensor<float, 2, xt::layout_type::column_major>(xt::zeros<float>({4, 3})), contiguous,
             "other strides");
  is_refused(xt::view(tall, xt::range(0, 5), xt::all()), "{4, 3}", "{5, 3}");
  is_refused(as_xtensor(static_view_of<shape(3, 4)>(numbers)), "{4, 3}", "{3, 4}");
  is_refused(xt::xtensor<float, 3>(xt::zeros<float>({4, 3, 1})), "{4, 3}", "{4, 3, 1}");
  step.set(bind<"fc.weight">(xt::xtensor_fixed<float, xt::xshape<2, 3>>{{1, 2, 3}, {4, 5, 6}}));
  BOOST_TEST(as_xtensor(step.param<"fc.weight">())(1, 1) == 5);
}

BOOST_AUTO_TEST_CASE(eigen_reads_and_writes_matrices_and_columns) {
  train_step step;
  step.init(seed{3});
  const auto [l, result] = step.value_and_grad(bind<"x">(numbers));
  auto w = as_eigen(step.param<"fc.weight">());
  static_assert(std::is_same_v<decltype(w), Eigen::Map<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>>);
  BOOST_TEST(w.data() == step.param<"fc.weight">().data());
  BOOST_TEST(&w(1, 0) == &step.param<"fc.weight">()(1, 0));
  const auto b = as_eigen(std::as_const(step).param<"fc.bias">());
  static_assert(std::is_same_v<decltype(b), const Eigen::Map<const Eigen::Matrix<float, 2, 1>>>);
  BOOST_TEST(b.data() == step.param<"fc.bias">().data());
  static_assert(decltype(as_eigen(step.param<"scale">()))::SizeAtCompileTime == 1);

  const auto given = as_eigen(static_view_of<x.shape>(numbers));
  const Eigen::Matrix<float, 4, 2> y = (given * w.transpose()).rowwise() + b.transpose();
  BOOST_TEST((as_eigen(result) - y).norm() < 1e-5F);
  const Eigen::Matrix<float, 4, 2> g = y * (step.param<"scale">()() / 4);
  BOOST_TEST((as_eigen(step.grad<"fc.weight">()) - g.transpose() * given).norm() < 1e-5F);
  BOOST_TEST((as_eigen(step.grad<"x">()) - g * w).norm() < 1e-5F);
  w.row(1).setConstant(3);
  BOOST_TEST(step.param<"fc.weight">()(1, 2) == 3);

  std::array<float, 12> own = numbers;
  auto column = as_eigen(static_view_of<shape(12, 1)>(own));
  auto row = as_eigen(static_view_of<shape(1, 12)>(own));
  static_assert(decltype(column)::RowsAtCompileTime == 12 && decltype(row)::ColsAtCompileTime == 12);
  BOOST_TEST(&column(7, 0) == &own[7]);
  BOOST_TEST(&row(0, 7) == &own[7]);
}

BOOST_AUTO_TEST_SUITE_END()
