// Concatenations along the last axis that are read from their pieces. A program that concatenates its inputs has the
// same bits as a program with inputs that are already concatenated. It copies the pieces only for readers that need a
// copy.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <vector>

#include "../overlap.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

constexpr shape with_columns(shape rows, int columns) {
  rows.extent[rows.rank - 1] = columns;
  return rows;
}
template <fixed_string Name, shape S>
constexpr auto read = []<std::size_t... I>(std::index_sequence<I...>) {
  return input<Name, S.extent[I]...>;
}(std::make_index_sequence<static_cast<std::size_t>(S.rank)>{});
template <int I>
constexpr auto name_of = fixed_string{"x"} + cairn::detail::digits<I>;

std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1;
  return out;
}

/// Copies the columns [begin, begin + n) of all rows.
std::vector<float> columns_of(const float* whole, std::int64_t rows, int columns, int begin, int n) {
  std::vector<float> out;
  for (std::int64_t row = 0; row < rows; ++row)
    out.insert(out.end(), whole + row * columns + begin, whole + row * columns + begin + n);
  return out;
}

/// Compares a body that reads a concatenation of pieces with a body that reads the whole tensor. `Columns` are the
/// columns of the pieces. The loss and the gradients must be equal, and the program must make exactly `Copies` copies.
template <auto Body, shape Rows, int Copies, class Pieces, int... Columns>
struct comparison;
template <auto Body, shape Rows, int Copies, int... I, int... Columns>
struct comparison<Body, Rows, Copies, std::integer_sequence<int, I...>, Columns...> {
  static constexpr int columns = (Columns + ...);
  static constexpr shape whole = with_columns(Rows, columns);
  static constexpr auto joined = Body(concatenate<-1>(read<name_of<I>, with_columns(Rows, Columns)>...));
  static constexpr auto at_once = Body(read<"all", whole>);
  using asked = wrt<name_of<I>...>;

  static void run() {
    BOOST_TEST((test::copies<test::step_of<joined, asked>> == Copies));
    BOOST_TEST((test::lawful<joined, asked>()));
    program<joined, asked> one;
    program<at_once, wrt<"all">> other;
    one.init(seed{3});
    other.init(seed{3});
    const std::int64_t rows = whole.count() / columns;
    const std::vector<float> all = numbers(whole.count(), 7);
    int begin = 0;
    const auto next = [&](const float* from, int n) {
      begin = begin == columns ? n : begin + n;
      return columns_of(from, rows, columns, begin - n, n);
    };
    const std::vector<float> given[]{next(all.data(), Columns)...};
    BOOST_TEST(one.value_and_grad(bind<name_of<I>>(given[I])...) == other.value_and_grad(bind<"all">(all)));
    const float* const gradient = other.template grad<"all">().data();
    (check_gradient(one.template grad<name_of<I>>().data(), next(gradient, Columns)), ...);
    constexpr std::size_t trained = test::step_of<joined, asked>::addresses.trained_bytes / sizeof(float);
    BOOST_TEST(std::ranges::equal(one.gradients().first(trained), other.gradients().first(trained)));
  }
  static void check_gradient(const float* own, const std::vector<float>& expected) {
    BOOST_TEST(std::equal(expected.begin(), expected.end(), own));
  }
};
template <auto Body, shape Rows, int Copies, int... Columns>
void same_as_whole() {
  comparison<Body, Rows, Copies, std::make_integer_sequence<int, static_cast<int>(sizeof...(Columns))>,
             Columns...>::run();
}

constexpr auto scaled = [](auto x) { return x * param<"by", x.shape[-1]> + param<"on", x.shape[-1]>; };

BOOST_AUTO_TEST_SUITE(joined)

BOOST_AUTO_TEST_CASE(elementwise_readers_of_pieces) {
  constexpr auto body = [](auto x) { return sum(square(tanh(scaled(x)))); };
  same_as_whole<body, shape{7, 1}, 0, 1, 3>();
  same_as_whole<body, shape{5, 3, 1}, 0, 16, 16>();
  same_as_whole<body, shape{1000, 1}, 0, 5, 12, 24, 1, 33>();
  same_as_whole<body, shape{1}, 0, 40, 7>();
}
BOOST_AUTO_TEST_CASE(moments_and_sums_of_columns) {
  constexpr auto body = [](auto x) { return sum(square(x | nn::batch_norm<"norm"> | nn::relu | nn::linear<"fc", 9>)); };
  same_as_whole<body, shape{300, 1}, 0, 5, 12, 24>();
  same_as_whole<body, shape{2, 5, 3, 1}, 0, 16, 3>();
}
BOOST_AUTO_TEST_CASE(sums_of_rows_and_of_all) {
  constexpr auto rows = [](auto x) { return sum(square(sum<-1>(x * x))); };
  same_as_whole<rows, shape{31, 1}, 0, 5, 12>();
  constexpr auto all = [](auto x) { return sum(x * x); };
  same_as_whole<all, shape{31, 1}, 0, 5, 12>();
  constexpr auto alone = [](auto x) { return sum(x); };
  same_as_whole<alone, shape{31, 1}, 1, 5, 12>();
}
BOOST_AUTO_TEST_CASE(rows_that_a_fused_loop_computes_for_a_kernel) {
  constexpr auto body = [](auto x) { return sum(square(softmax(scaled(x)))); };
  same_as_whole<body, shape{90, 1}, 0, 5, 12, 24>();
}
BOOST_AUTO_TEST_CASE(tiles_of_a_product) {
  constexpr auto body = [](auto x) {
    return sum(square(nn::linear<"fc", x.shape[-1]>(param<"start", x.shape[0], 40>) * x + x));
  };
  same_as_whole<body, shape{61, 1}, 0, 5, 12, 24, 30>();
}
BOOST_AUTO_TEST_CASE(convolutions_of_joined_channels) {
  constexpr auto body = [](auto x) { return sum(square(x | nn::conv2d<"c", 5, 3, nn::window{.padding = 1}>)); };
  same_as_whole<body, shape{2, 6, 7, 1}, 0, 5, 3>();
  constexpr auto each = [](auto x) {
    return sum(square(x | nn::conv2d<"c", x.shape[-1], 3, nn::window{.padding = 1, .groups = x.shape[-1]}>));
  };
  same_as_whole<each, shape{2, 6, 7, 1}, 0, 5, 16>();
  constexpr auto in_place = [](auto x) { return sum(square(x | nn::conv2d<"c", 5, 1>)); };
  same_as_whole<in_place, shape{2, 6, 7, 1}, 1, 5, 3>();
}
BOOST_AUTO_TEST_CASE(more_pieces_than_are_read_at_a_time) {
  constexpr auto body = [](auto x) { return sum(square(sum<0>(tanh(scaled(x))))); };
  same_as_whole<body, shape{9, 1}, 0, 3, 1, 2, 5, 3, 1, 2, 5, 3, 1, 2, 5, 3, 1, 2, 5, 3, 1, 2, 5, 17, 1, 2, 5, 3>();
}
BOOST_AUTO_TEST_CASE(single_columns_and_other_axes) {
  constexpr auto body = [](auto x) { return sum(square(tanh(scaled(x)))); };
  same_as_whole<body, shape{40, 1}, 1, 1, 1, 1>();
  constexpr auto a = param<"a", 3, 1>;
  constexpr auto b = param<"b", 5, 1>;
  static_assert(test::copies<test::step_of<sum(square(concatenate<0>(a, b) | nn::batch_norm<"n">))>> == 1);
  static_assert(test::copies<test::step_of<sum(square(concatenate<1>(concatenate<0>(a, b), param<"c", 8, 1>)))>> > 0);
}
BOOST_AUTO_TEST_CASE(two_concatenations_with_different_pieces) {
  constexpr auto body = [](auto x) {
    constexpr int rows = x.shape[0], columns = x.shape[-1];
    return sum(square(tanh(x) * concatenate<-1>(param<"p", rows, 3>, param<"q", rows, columns - 3>)));
  };
  same_as_whole<body, shape{90, 1}, 0, 5, 12>();
}
BOOST_AUTO_TEST_CASE(concatenations_of_a_concatenation) {
  constexpr auto body = [](auto x) {
    return sum(square(scaled(concatenate<-1>(x, x * x))) + 0.5_c * square(concatenate<-1>(x * x, x)));
  };
  same_as_whole<body, shape{90, 1}, 0, 5, 12>();
  constexpr auto copied = [](auto x) { return sum(square(reshape<90 * 34>(concatenate<-1>(x, x * x)))); };
  same_as_whole<copied, shape{90, 1}, 1, 5, 12>();
}
BOOST_AUTO_TEST_CASE(truth_values) {
  constexpr auto body = [](auto x) {
    constexpr int rows = x.shape[0], columns = x.shape[-1];
    constexpr auto p = param<"p", rows, 3>;
    constexpr auto q = param<"q", rows, columns - 3>;
    return sum(where(concatenate<-1>(p > 0_c, q > 0_c), x * x, x * concatenate<-1>(p, q)));
  };
  same_as_whole<body, shape{90, 1}, 0, 5, 12>();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
