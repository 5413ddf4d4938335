// Index tensors in programs. They are bound, moved, passed into segments, computed and returned. There are also
// reductions by order.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <vector>

using namespace cairn;

namespace own {

/// Splits the number of a place on a board of three columns into row and column. This is a user's operation that
/// computes indices.
struct split_op : op {
  static constexpr fixed_string name = "split";
  using rule = misuse::axes_exist;
  static constexpr kind argument_kind(int) { return kind::whole; }
  static constexpr std::array<tensor_type, 2> result(const tensor_type& x) {
    return {tensor_type(x, index_below((x.element.bound + 2) / 3)), tensor_type(x, index_below(3))};
  }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
};
template <class Real, class X>
void compute(split_op, signature<Real, X>, void* const* p) {
  for (std::int64_t i = 0; i < X::shape.count(); ++i) {
    const std::int32_t place = static_cast<const std::int32_t*>(p[2])[i];
    static_cast<std::int32_t*>(p[0])[i] = place / 3;
    static_cast<std::int32_t*>(p[1])[i] = place % 3;
  }
}

}  // namespace own

namespace {

constexpr auto tokens = indices<"tokens", 5, 2, 4>;
constexpr std::array<std::int32_t, 8> some{0, 2, 2, 3, 1, 2, 0, 1};
constexpr auto w = param<"w", 5, 3>;
constexpr std::array<float, 15> numbers{1, 2, 2, 0, -1, 0, 3, 3, 3, -2, 1, 1, 5, 0, -5};

template <class Range, class T, std::size_t N>
bool equals(const Range& got, const std::array<T, N>& expected) {
  return std::ranges::equal(got, expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(indices_in_programs)

// PyTorch 2.15 and JAX 0.10.2 computed the expected values, and they agree. The functions are embedding (take),
// index_select, amax and amin, with many equal numbers.
BOOST_AUTO_TEST_CASE(values_and_gradients_equal_those_of_pytorch_and_jax) {
  constexpr auto h = gather<0>(w, tokens);
  constexpr auto columns = gather<1>(w, indices<"columns", 3, 3>);
  constexpr auto by_token = max<-1>(h);
  constexpr auto by_feature = min<1>(h);
  constexpr auto by_column = max<0>(columns);
  constexpr auto loss =
      sum(by_token * input<"k", 2, 4>) + sum(by_feature * input<"m", 2, 3>) + sum(by_column * input<"n", 3>);
  program<outputs(loss, by_token, by_feature, by_column, argmax<-1>(h), argmin<1>(h))> step;
  std::ranges::copy(numbers, step.param<"w">().begin());
  const std::array<float, 8> k{1, 2, 3, 4, 5, 6, 7, 8};
  const std::array<float, 6> m{1, 2, 3, 4, 5, 6};
  const auto [value, y, z, u, most, least] =
      step.value_and_grad(bind<"tokens">(some), bind<"columns">(std::array{2, 0, 2}), bind<"k">(k), bind<"m">(m),
                          bind<"n">(std::array{1.F, 2.F, 4.F}));
  BOOST_TEST(value == 76);
  BOOST_TEST(equals(y, std::array{2.F, 3.F, 3.F, 1.F, 0.F, 3.F, 2.F, 0.F}));
  BOOST_TEST(equals(z, std::array{-2.F, 1.F, 1.F, 0.F, -1.F, 0.F}));
  BOOST_TEST(equals(u, std::array{3.F, 5.F, 3.F}));
  BOOST_TEST(equals(most, std::array{1, 0, 0, 1, 0, 0, 1, 0}));
  BOOST_TEST(equals(least, std::array{3, 3, 3, 0, 0, 0}));
  const std::array<float, 15> expected{0, 4, 4, 10.5, 5, 12.5, 3.6666667F, 3.6666667F, 8.6666667F, 1, 4, 5, 2, 0, 0};
  const auto g = step.grad<"w">();
  for (std::size_t i = 0; i < 15; ++i) BOOST_TEST(std::abs(g.data()[i] - expected[i]) <= 1e-6F);
}
BOOST_AUTO_TEST_CASE(second_gradients_equal_those_of_pytorch_and_jax) {
  constexpr auto h = gather<0>(w, tokens);
  constexpr auto cubed = h * h * h;
  program<sum(square(grad(sum(max<-1>(cubed)) + sum(cubed), w)))> step;
  std::ranges::copy(numbers, step.param<"w">().begin());
  static_cast<void>(step.value_and_grad(bind<"tokens">(some)));
  const std::array<float, 15> expected{144, 2592, 2592, 0, -144, 0, 15552, 15552, 15552, -288, 81, 81, 0, 0, 0};
  const auto g = step.grad<"w">();
  for (std::size_t i = 0; i < 15; ++i) BOOST_TEST(std::abs(g.data()[i] - expected[i]) <= 1e-6F * 15552);
}

// Programs and predictors return indices as integers, and moved indices keep their values.
BOOST_AUTO_TEST_CASE(indices_are_moved_and_returned) {
  constexpr auto turned = transpose(tokens);
  constexpr auto columns = indices<"columns", 3, 4>;
  constexpr auto parts = outputs(sum(square(w)), turned, concatenate<0>(slice<0, 1, 3>(turned), turned),
                                 reshape<8>(gather<0>(turned, columns)),
                                 placed<0>(turned, slice<0, 0, 1>(columns), slice<0, 0, 2>(turned)));
  program<parts> step;
  step.init(seed{1});
  predictor<parts> predict{step};
  const auto check = [](const auto& result) {
    BOOST_TEST(equals(std::get<1>(result), std::array{0, 1, 2, 2, 2, 0, 3, 1}));
    BOOST_TEST(equals(std::get<2>(result), std::array{2, 2, 2, 0, 0, 1, 2, 2, 2, 0, 3, 1}));
    BOOST_TEST(equals(std::get<3>(result), std::array{2, 0, 0, 1, 0, 1, 2, 2}));
    BOOST_TEST(equals(std::get<4>(result), std::array{0, 1, 2, 2, 0, 1, 2, 2}));
  };
  const std::array at{2, 0, 0, 1};
  check(step.value_and_grad(bind<"tokens">(some), bind<"columns">(at)));
  check(predict(bind<"tokens">(some), bind<"columns">(at)));
  predictor<argmax<-1>(w)> alone{step};
  std::ranges::copy(numbers, step.param<"w">().begin());
  BOOST_TEST(equals(alone(), std::array{1, 0, 0, 1, 0}));
  predictor<gather<0>(argmax<-1>(w, keepdim), indices<"one", 5>)> of_one{step};
  BOOST_TEST(of_one(bind<"one">(std::array{3}))(0) == 1);
}

/// Comparisons of real numbers, of indices, and of both with constants. Truth values are themselves indices below 2.
BOOST_AUTO_TEST_CASE(truth_values) {
  constexpr auto a = input<"a", 2, 3>;
  constexpr auto b = input<"b", 3>;
  constexpr auto at = indices<"at", 5, 3>;
  constexpr auto mask = indices<"mask", 2, 3>;
  const std::array x{1.F, 2.F, NAN, 3.F, -1.F, 0.F};
  const std::array y{1.F, 3.F, 0.F};
  using truth = std::array<std::uint8_t, 6>;
  using truths = std::array<std::uint8_t, 3>;
  program<sum(w)> step;
  step.init(seed{1});
  const std::array places{0, 4, 2};
  const std::array chosen{1, 0, 1};
  predictor<outputs(a<b, a <= b, a> b, a >= b, a == b, a != b, (a < b) == (b > a), as<double>(a) <= 1_c)> of_reals{
      step};
  const auto real = of_reals(bind<"a">(x), bind<"b">(y));
  BOOST_TEST(equals(std::get<0>(real), truth{0, 1, 0, 0, 1, 0}));
  BOOST_TEST(equals(std::get<1>(real), truth{1, 1, 0, 0, 1, 1}));
  BOOST_TEST(equals(std::get<2>(real), truth{0, 0, 0, 1, 0, 0}));
  BOOST_TEST(equals(std::get<3>(real), truth{1, 0, 0, 1, 0, 1}));
  BOOST_TEST(equals(std::get<4>(real), truth{1, 0, 0, 0, 0, 1}));
  BOOST_TEST(equals(std::get<5>(real), truth{0, 1, 1, 1, 1, 0}));
  BOOST_TEST(equals(std::get<6>(real), truth{1, 1, 1, 1, 1, 1}));
  BOOST_TEST(equals(std::get<7>(real), truth{1, 0, 0, 0, 1, 1}));
  predictor<outputs(at < 2_c, at == arange<3>, 2.5_c > at, where(mask, at, arange<3>), where(mask == 1_c, a, b),
                    one_hot(at == 4_c))>
      of_indices{step};
  const auto whole = of_indices(bind<"a">(x), bind<"b">(y), bind<"at">(places), bind<"mask">(chosen));
  BOOST_TEST(equals(std::get<0>(whole), truths{1, 0, 0}));
  BOOST_TEST(equals(std::get<1>(whole), truths{1, 0, 1}));
  BOOST_TEST(equals(std::get<2>(whole), truths{1, 0, 1}));
  BOOST_TEST(equals(std::get<3>(whole), std::array{0, 1, 2}));
  const auto picked = std::get<4>(whole);
  BOOST_TEST((picked(0, 1) == 3 && std::isnan(picked(0, 2)) && picked(1, 0) == 3 && picked(1, 1) == 3));
  BOOST_TEST(equals(std::get<5>(whole), std::array{1.F, 0.F, 0.F, 1.F, 1.F, 0.F}));
}
BOOST_AUTO_TEST_CASE(indices_from_an_operation_that_a_user_adds) {
  constexpr auto place = indices<"place", 15, 4>;
  constexpr auto at = make<own::split_op>(place);
  static_assert(std::get<0>(at).element == index_below(5) && std::get<1>(at).element == index_below(3));
  constexpr auto rows = gather<0>(w, std::get<0>(at));
  constexpr auto numbers_there = sum<1>(rows * one_hot(std::get<1>(at)));
  program<outputs(sum(numbers_there), numbers_there)> step;
  std::ranges::copy(numbers, step.param<"w">().begin());
  const auto [all, each] = step.value_and_grad(bind<"place">(std::array{1, 14, 9, 9}));
  BOOST_TEST(equals(each, std::array{2.F, -5.F, -2.F, -2.F}));
  std::array<float, 15> expected{};
  expected[1] = expected[14] = 1;
  expected[9] = 2;
  BOOST_TEST(equals(step.grad<"w">(), expected));
}

// The message names an index that is out of bounds, and the program has not changed.
BOOST_AUTO_TEST_CASE(indices_out_of_bounds_change_nothing) {
  program<sum(dropout<"d", 0.5>(gather<0>(w, tokens)))> step;
  step.init(seed{1});
  static_cast<void>(step.value_and_grad(bind<"tokens">(some)));
  const std::vector<float> parameters(step.parameters().begin(), step.parameters().end()),
      gradients(step.gradients().begin(), step.gradients().end());
  const auto before = step.random();
  for (const std::int32_t wrong : {-1, 5}) {
    const std::array<std::array<std::int32_t, 4>, 2> given{{{0, 1, 2, 3}, {4, 0, wrong, 0}}};
    BOOST_CHECK_EXCEPTION(static_cast<void>(step.value_and_grad(bind<"tokens">(given))), label_error,
                          [&](const label_error& e) {
                            return e.input == "tokens" && e.index == 6 && e.expected == 5 && e.actual == wrong;
                          });
  }
  BOOST_TEST(std::ranges::equal(step.parameters(), parameters));
  BOOST_TEST(std::ranges::equal(step.gradients(), gradients));
  BOOST_TEST(step.random().step == before.step);
}

// A table of positions that is loaded with the parameters. It stays a float where trained parameters are bf16, which has
// not all whole numbers above 256. A number that is no index changes nothing.
BOOST_AUTO_TEST_CASE(indices_from_frozen_numbers) {
  constexpr auto table = param<"table", 300, 2>;
  constexpr auto rows = [](auto from) { return tanh(gather<0>(from, as_indices<300>(frozen<"at", 2, 2>))); };
  constexpr auto loss = sum(ckpt<"s", allow_useless>(layer(rows), table));
  program<loss, update<sgd_options{}>, mixed<bf16, stochastic_rounding>> step;
  step.init(seed{1});
  BOOST_CHECK_THROW(static_cast<void>(step.train()), std::out_of_range);  // init has drawn the positions
  step.init(seed{1});
  const std::array<float, 4> at{299, 0, 257, 299};
  step.set(bind<"at">(at));
  predictor<as_indices<300>(frozen<"at", 2, 2>), mixed<bf16, stochastic_rounding>> positions{step};
  BOOST_TEST(equals(positions(), std::array{299, 0, 257, 299}));
  static_cast<void>(step.train());
  const std::vector<float> trained(step.parameters().begin(), step.parameters().end());
  step.set(bind<"at">(std::array{299.F, 0.F, 300.F, 299.F}));
  BOOST_CHECK_THROW(static_cast<void>(step.train()), std::out_of_range);
  step.set(bind<"at">(at));
  BOOST_TEST(trained == std::vector<float>(step.parameters().begin(), step.parameters().end()));
}

BOOST_AUTO_TEST_SUITE_END()
