// The results of programs with values of several element types, and of programs with shapes that leave little work for
// a fused loop. tests/static/indices.cpp has the static properties.
#include <algorithm>
#include <array>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../own.hpp"

using namespace cairn;

namespace own {

/// x times a number.
struct scaled_op : op {
  static constexpr fixed_string name = "scaled";
  using rule = misuse::equal_shapes;
  static constexpr shape result(const shape& x, const shape& factor) { return factor == shape{} ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto x, auto factor) { return gradients(g * factor, sum(g * x)); }
};
template <class Real, class X, class Factor>
void compute(scaled_op, signature<Real, X, Factor>, void* const* operands) {
  const Real *x = static_cast<const Real*>(operands[1]), *factor = static_cast<const Real*>(operands[2]);
  std::transform(x, x + X::shape.count(), static_cast<Real*>(operands[0]), [&](Real e) { return e * *factor; });
}

/// A matrix with `Width` zeros at each side.
template <int Width>
struct framed_op : op {
  static constexpr fixed_string name = "framed";
  using rule = misuse::axes_exist;
  static constexpr bool mapped = true;
  static constexpr shape result(const shape& x) { return shape{x[0] + 2 * Width, x[1] + 2 * Width}; }
  static constexpr axis_map map(const shape&, int) { return {.begin = -Width, .outside = nn::edge::zero}; }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape s = decltype(x)::shape;
    return gradients(slice<0, Width, Width + s[0]>(slice<1, Width, Width + s[1]>(g)));
  }
};

/// One row, repeated `Rows` times.
template <int Rows>
struct rows_op : op {
  static constexpr fixed_string name = "rows";
  using rule = misuse::axes_exist;
  static constexpr bool mapped = true;
  static constexpr shape result(const shape& x) { return shape{Rows, x[1]}; }
  static constexpr axis_map map(const shape&, int axis) { return {.step = axis == 0 ? 0 : 1}; }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(sum<0>(g, keepdim)); }
};

/// Returns x and x + 1. In a predictor, both results are x.
struct beside_op : op {
  static constexpr fixed_string name = "beside";
  using rule = misuse::equal_shapes;
  static constexpr std::array<shape, 2> result(const shape& x) { return {x, x}; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr int stands_for(bool training) { return training ? -1 : 0; }
  static constexpr auto vjp(auto g, auto h, auto, auto, auto) { return gradients(g + h); }
};
template <class Real, class X>
void compute(beside_op, signature<Real, X>, void* const* operands) {
  const Real* const x = static_cast<const Real*>(operands[2]);
  for (int r = 0; r < 2; ++r) {
    Real* const to = static_cast<Real*>(operands[r]);
    for (int i = 0; to != nullptr && i < X::shape.count(); ++i) to[i] = x[i] + static_cast<Real>(r);
  }
}

/// 2 x, computed row by row.
struct doubled_op : op {
  static constexpr fixed_string name = "doubled";
  using rule = misuse::axes_exist;
  static constexpr making makes(int /*result*/, int /*bytes*/, const shape&) { return {.tiles = tiling::complete}; }
  static constexpr shape result(const shape& x) { return x; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g * 2_c); }
};
template <class Real, class X>
void compute(doubled_op, signature<Real, X>, void* const* operands, const kernels::launch& how) {
  constexpr int columns = X::shape[-1];
  const Real* x = static_cast<const Real*>(operands[1]);
  for (int row = 0; row < X::shape.count() / columns; ++row, x += columns) {
    alignas(64) Real tile[(columns + 15) / 16 * 16] = {};
    for (int j = 0; j < columns; ++j) tile[j] = 2 * x[j];
    if (how.reader != nullptr) how.reader->run(tile, columns, row, 0, 1, columns);
    else std::copy_n(tile, columns, static_cast<Real*>(operands[0]) + row * columns);
  }
}

}  // namespace own

namespace {

// A tensor {40, 2} is transposed to {2, 40} in another type, and its columns are summed. The sums have as many bytes,
// in yet another type.
constexpr auto pairs = input<"pairs", 40, 2>;
constexpr auto of_halves = sum<0>(as_real(transpose(as<own::half>(pairs * param<"factor">))) * 1_c);
constexpr auto of_floats = sum<0>(as_real(transpose(as<float>(pairs))) * param<"factor">);

// The first 64 columns of x, computed by a matrix product with several blocks of depth.
constexpr auto x = input<"x", 64, 1000>;
constexpr auto z = input<"z", 64, 64>;
constexpr auto w = param<"w", 1000, 64>;
constexpr auto in_bytes = as<std::uint8_t>(matmul(x, w));
constexpr auto later_in_bytes = as<std::uint8_t>(matmul(x, w) + 1_c);
constexpr auto in_doubles = as_real(as<double>(matmul(x, w)) + as<double>(transpose(z)));

// 20 numbers: whole registers, and a rest.
constexpr auto v = param<"v", 20>;
constexpr auto d = as<double>(v);
constexpr auto nothing = gather<0>(as<double>(input<"zero", 1>), indices<"first", 1, 1>);
constexpr auto ones = transpose(as<double>(input<"ones", 20, 1>));

constexpr auto four = param<"four", 4>;
constexpr auto twice = layer([](auto e) { return as<double>(e) * 2_c; });
constexpr auto column = input<"column", 4, 1>;
constexpr auto row = input<"row", 1, 8>;

/// Returns a program with all parameters set to one number.
template <class Program>
Program filled(float number) {
  Program step;
  step.init(seed{1});
  std::ranges::fill(step.parameters(), number);
  return step;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(element_types)

// Compares with the two neighbours in bf16, which differ in one bit. The numbers are all numbers of bf16, and numbers
// between them.
BOOST_AUTO_TEST_CASE(rounding_to_the_nearest_bf16) {
  const auto value = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  int wrong = 0;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float exact = value(upper << 16 | lower), made = static_cast<float>(bf16(exact));
      const float below = value(upper << 16), above = value((upper + 1) << 16);
      if (std::isnan(exact)) {
        wrong += !std::isnan(made) || (std::bit_cast<std::uint32_t>(made) & 0x400000U) == 0;
      } else if (std::abs(exact) < std::numeric_limits<float>::min()) {
        wrong += made != 0 || std::signbit(made) != std::signbit(exact);
      } else {
        const bool up = lower > 0x8000U || (lower == 0x8000U && upper % 2 == 1);
        wrong += made != (up ? above : below);
      }
    }
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(static_cast<double>(bf16(1.0 + 0x1p-8)) == 1.0);
  BOOST_TEST(static_cast<double>(bf16(1.0 + 0x1.8p-7)) == 1.0 + 0x1p-6);
  // The nearest floats of these doubles are ties, but the doubles themselves are not.
  for (const double sign : {1.0, -1.0}) {
    BOOST_TEST(static_cast<double>(bf16(sign * (1.0 + 0x1p-8 + 0x1p-40))) == sign * (1.0 + 0x1p-7));
    BOOST_TEST(static_cast<double>(bf16(sign * (1.0 + 0x1.8p-7 - 0x1p-40))) == sign * (1.0 + 0x1p-7));
    const bf16 in_loops = kernels::held<dtype::bf16, float>::nearest(sign * (1.0 + 0x1p-8 + 0x1p-40));
    BOOST_TEST(static_cast<double>(in_loops) == sign * (1.0 + 0x1p-7));
    BOOST_TEST(static_cast<double>(bf16(sign * 0x1p200)) == sign * std::numeric_limits<double>::infinity());
    BOOST_TEST(bf16(sign * 0x1p-200).bits == bf16(sign * 0.0).bits);
  }
}
// Registers round as single numbers do, whether the result is stored or not. In a program of doubles, nothing is
// rounded.
BOOST_AUTO_TEST_CASE(rounding_in_fused_loops) {
  program<sum(param<"p", 1>)> none;
  program<sum(param<"p", 1>), real<double>> none_in_double;
  constexpr auto all = input<"x", 67>;
  constexpr auto stored = as<bf16>(all * 3_c);
  predictor<outputs(stored, as_real(stored) + 1_c, as_real(as<bf16>(all)))> look{none};
  std::vector<float> numbers(67);
  for (std::size_t i = 0; i < 67; ++i)
    numbers[i] = std::ldexp(1 + static_cast<float>(i) / 64, static_cast<int>(i) - 40);
  numbers[5] = std::numeric_limits<float>::infinity(), numbers[6] = -0.0F, numbers[7] = 1e-40F;
  const auto [half, more, alone] = look(bind<"x">(numbers));
  for (std::size_t i = 0; i < 67; ++i) {
    const bf16 nearest(numbers[i] * 3);
    BOOST_TEST(half.data()[i].bits == nearest.bits);
    BOOST_TEST(more.data()[i] == static_cast<float>(nearest) + 1);
    BOOST_TEST(alone.data()[i] == static_cast<float>(bf16(numbers[i])));
  }
  predictor<as_real(as<bf16>(all)), real<double>> exact{none_in_double};
  const std::vector<double> thirds(67, 1 / 3.0);
  BOOST_TEST(exact(bind<"x">(thirds)).data()[66] == 1 / 3.0);
}

// Sums are written over their operands only if they have the same type and as many bytes.
BOOST_AUTO_TEST_CASE(sums_of_another_type_are_not_written_over_their_operands) {
  std::array<float, 80> floats{};
  float squares = 0;
  for (std::size_t k = 0; k < 40; ++k) {
    floats[2 * k] = static_cast<float>(k);
    floats[2 * k + 1] = 2;
    squares += static_cast<float>((k + 2) * (k + 2));
  }
  auto of_two_bytes = filled<program<sum(square(of_halves))>>(1);
  BOOST_TEST(squares == 23820);
  BOOST_TEST(of_two_bytes.value_and_grad(bind<"pairs">(floats)) == squares);

  std::array<double, 80> doubles{};
  for (std::size_t k = 0; k < 80; ++k) doubles[k] = static_cast<double>(k + 1);
  program<sum(of_floats * 1_c), real<double>> of_four_bytes;
  of_four_bytes.init(seed{1});
  of_four_bytes.parameters()[0] = 1;
  BOOST_TEST(of_four_bytes.value_and_grad(bind<"pairs">(doubles)) == 3240);
}

// A product that is summed block by block needs partial sums of its own type, whatever type its reader converts the
// result to.
BOOST_AUTO_TEST_CASE(products_are_summed_in_their_own_type) {
  std::vector<float> given(std::size_t{64} * 1000), turned(std::size_t{64} * 64);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t k = 0; k < 1000; ++k) given[i * 1000 + k] = static_cast<float>((i + k) % 200);
    for (std::size_t k = 0; k < 64; ++k) turned[i * 64 + k] = static_cast<float>(1000 * i + k);
  }
  auto step = filled<program<sum(w)>>(0);
  for (std::size_t k = 0; k < 64; ++k) step.param<"w">()(k, k) = 1;
  predictor<in_bytes> bytes{step};
  predictor<later_in_bytes> later{step};
  predictor<in_doubles> doubles{step};
  const auto y = bytes(bind<"x">(given)), more = later(bind<"x">(given));
  const auto sums = doubles(bind<"x">(given), bind<"z">(turned));
  int wrong_bytes = 0, wrong_sums = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      wrong_bytes += y(i, j) != (i + j) % 200;
      wrong_bytes += more(i, j) != (i + j) % 200 + 1;
      wrong_sums += sums(i, j) != static_cast<float>((i + j) % 200 + 1000 * j + i);
    }
  }
  BOOST_TEST(wrong_bytes == 0);
  BOOST_TEST(wrong_sums == 0);
}

// Every iteration applies the same layer, which converts floats to doubles. The second iteration takes doubles.
BOOST_AUTO_TEST_CASE(a_repeated_layer_may_change_the_type) {
  auto step = filled<program<sum(four)>>(1);
  predictor<(four | repeat<3, "block">([](auto) { return twice; }))> predict{step};
  const auto y = predict();
  static_assert(sizeof(y(0)) == sizeof(double));
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(y(i) == 8);
}

// Elementwise functions of doubles are computed in double, whatever the type of the program's numbers.
BOOST_AUTO_TEST_CASE(doubles_among_floats_are_whole_doubles) {
  program<outputs(as_real(sum(maximum(d, 0_c) * d)), relu(d), maximum(d, constant<-0.1>), sigmoid(d), gelu(d))> step;
  step.init(seed{1});
  for (std::size_t i = 0; i < 20; ++i) step.param<"v">()(i) = 0.3F * (static_cast<float>(i) - 9.5F);
  const auto [loss, positive, most, logistic, gated] = step.value_and_grad();
  double expected = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const float e = step.param<"v">()(i);
    const double number = e;
    expected += std::max(number, 0.0) * number;
    BOOST_TEST(positive(i) == std::max(number, 0.0));
    BOOST_TEST(most(i) == std::max(number, -0.1));
    BOOST_TEST(std::abs(logistic(i) - 1 / (1 + std::exp(-number))) <= 1e-15);
    BOOST_TEST(std::abs(gated(i) - 0.5 * number * (1 + std::erf(number / std::sqrt(2.0)))) <= 1e-15);
    BOOST_TEST(step.grad<"v">()(i) == 2 * std::max(e, 0.0F));
  }
  BOOST_TEST(std::abs(loss - expected) <= 1e-6 * expected);
}
// The cotangent of an output has the type of the output.
BOOST_AUTO_TEST_CASE(a_cotangent_of_doubles_is_doubles) {
  auto step = filled<program<square(as<double>(four)), cotangent<"g">>>(3);
  static_cast<void>(step.value_and_grad(bind<"g">(std::array{1.0, 2.0, 3.0, 4.0})));
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(step.grad<"four">()(i) == static_cast<float>(6 * (i + 1)));
}
// A number that is repeated keeps its sign, and a constant in memory keeps all of its digits.
BOOST_AUTO_TEST_CASE(repeated_numbers_keep_sign_and_digits) {
  constexpr auto scaled = make<own::scaled_op>(d, constant<0.1>);
  auto step = filled<program<outputs(sum(v), 1_c / (nothing * ones), scaled, d * constant<0.1>)>>(1);
  std::array<float, 20> one{};
  one.fill(1);
  const auto [loss, inverse, by_kernel, by_loop] =
      step.value_and_grad(bind<"zero">(std::array{-0.0F}), bind<"ones">(one), bind<"first">(std::array{0}));
  for (std::size_t i = 0; i < 20; ++i) {
    BOOST_TEST(inverse(0, i) == -HUGE_VAL);
    BOOST_TEST(by_kernel(i) == 0.1);
    BOOST_TEST(by_loop(i) == 0.1);
  }
}

// If a loss is one element of a tensor, the gradient of this element is 1, and all other gradients are 0.
BOOST_AUTO_TEST_CASE(a_loss_may_be_an_element) {
  constexpr auto five = param<"five", 5>;
  auto step = filled<program<reshape<>(slice<0, 2, 3>(five))>>(3);
  BOOST_TEST(step.value_and_grad() == 3);
  for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(step.grad<"five">()(i) == (i == 2 ? 1 : 0));
}
// A map reads a single number in the same way as many numbers. Here the number is surrounded by zeros.
BOOST_AUTO_TEST_CASE(a_single_number_may_be_mapped) {
  constexpr auto one = param<"one", 1, 1>;
  auto step = filled<program<sum(square(make<own::framed_op<3>>(one)))>>(3);
  BOOST_TEST(step.value_and_grad() == 9);
  BOOST_TEST(step.grad<"one">()(0, 0) == 6);
}
// A matrix product must not read a repeated row as if its copies were in memory.
BOOST_AUTO_TEST_CASE(a_product_may_read_one_row_many_times) {
  constexpr auto square_matrix = param<"m", 8, 8>;
  auto step = filled<program<sum(matmul(make<own::rows_op<4>>(row), square_matrix))>>(1);
  BOOST_TEST(step.value_and_grad(bind<"row">(std::array<float, 8>{1, 2, 3, 4, 5, 6, 7, 8})) == 4 * 8 * 36);
  for (std::size_t k = 0; k < 8; ++k) BOOST_TEST(step.grad<"m">()(k, 0) == static_cast<float>(4 * (k + 1)));
}
BOOST_AUTO_TEST_CASE(tiles_may_have_one_column) {
  auto step = filled<program<outputs(sum(four), make<own::doubled_op>(column) + 1_c)>>(1);
  const auto [loss, y] = step.value_and_grad(bind<"column">(std::array<float, 4>{1, 2, 3, 4}));
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(y(i, 0) == static_cast<float>(2 * i + 3));
}

// If an operation stands for its argument, as in a predictor, each of its results does.
BOOST_AUTO_TEST_CASE(each_result_may_stand_for_the_argument) {
  constexpr auto beside = make<own::beside_op>(four);
  constexpr auto more = param<"more", 4>;
  auto step = filled<program<sum(std::get<0>(beside) * std::get<1>(beside) + more)>>(2);
  std::ranges::fill(step.param<"more">(), 77.0F);
  BOOST_TEST(step.value_and_grad() == 4 * (2 * 3 + 77));
  predictor<outputs(std::get<1>(beside) * 1_c, more * 1_c)> predict{step};
  const auto [second, others] = predict();
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(second(i) == 2);
    BOOST_TEST(others(i) == 77);
  }
}

// There are more arguments than a word has bits.
BOOST_AUTO_TEST_CASE(many_tensors_may_be_concatenated) {
  constexpr auto joined = []<std::size_t... I>(std::index_sequence<I...>) {
    return concatenate<0>((static_cast<void>(I), param<"p", 1>)...);
  }(std::make_index_sequence<65>{});
  auto step = filled<program<sum(joined)>>(3);
  BOOST_TEST(step.value_and_grad() == 195);
  BOOST_TEST(step.grad<"p">()(0) == 65);
}

// A sum has the same bits in the fused loop that computes its terms, where operands are repeated, and as a kernel.
BOOST_AUTO_TEST_CASE(sums_in_fused_loops_have_the_bits_of_kernels) {
  const auto check = []<int A, int B, int C>(std::integer_sequence<int, A, B, C>) {
    constexpr auto x = input<"x", A, B, C>;
    constexpr auto h = tanh(x * input<"column", B, 1> + input<"row", C>);
    constexpr auto g = exp(x - input<"outer", A, 1, 1>);
    constexpr auto given = input<"given", A, B, C>;
    constexpr auto w = param<"w", 1>;
    program<outputs(sum(w), h, sum<0, 1>(h), sum<2>(h), g, sum<0>(g), sum<1, 2>(g))> joined;
    program<outputs(sum(w), sum<0, 1>(given), sum<2>(given))> alone;
    program<outputs(sum(w), sum<0>(given), sum<1, 2>(given))> alone_too;
    joined.init(seed{1});
    alone.init(seed{1});
    alone_too.init(seed{1});
    random_sequence draw(seed{2}, 0);
    const auto drawn = [&](std::size_t n) {
      std::vector<float> numbers(n);
      for (float& number : numbers) number = 2 * uniform(draw()) - 1;
      return numbers;
    };
    const auto [_, of_h, by_column, by_row, of_g, by_outer, by_rest] = joined.value_and_grad(
        bind<"x">(drawn(A * B * C)), bind<"column">(drawn(B)), bind<"row">(drawn(C)), bind<"outer">(drawn(A)));
    const auto [_1, columns, rows] = alone.value_and_grad(bind<"given">(of_h));
    const auto [_2, outer, rest] = alone_too.value_and_grad(bind<"given">(of_g));
    BOOST_TEST(std::ranges::equal(by_column, columns));
    BOOST_TEST(std::ranges::equal(by_row, rows));
    BOOST_TEST(std::ranges::equal(by_outer, outer));
    BOOST_TEST(std::ranges::equal(by_rest, rest));
  };
  check(std::integer_sequence<int, 3, 5, 37>{});
  check(std::integer_sequence<int, 2, 33, 16>{});
  check(std::integer_sequence<int, 1, 7, 3>{});
}

BOOST_AUTO_TEST_SUITE_END()
