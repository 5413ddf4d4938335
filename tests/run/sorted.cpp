// Sorted elements, running sums, and elements at indices along an axis: checks of the operations, gradients, and the
// values and gradients of PyTorch.
#include <cairn/boost_test.hpp>

#include "gradients.hpp"
#include "torch_values.hpp"

BOOST_AUTO_TEST_SUITE(sorted_elements)

constexpr auto a = param<"a", 3, 5>;
constexpr auto b = param<"b", 3, 5>;
constexpr auto at = indices<"at", 5, 3, 4>;
constexpr auto v = param<"v", 3, 4>;
/// Some positions occur several times in a row, and some do not occur.
const std::array<std::int32_t, 12> positions{1, 0, 1, 1, 4, 4, 0, 2, 3, 1, 0, 3};

BOOST_AUTO_TEST_CASE(checks_of_operations) {
  constexpr auto apart = param_from<"x", initial::uniform(3), 4, 6>;
  constexpr auto below = indices<"below", 4, 40, 6>;
  BOOST_TEST((check_operation<lang::sort_op<-1, 6, false>, apart>(seed{2})));
  BOOST_TEST((check_operation<lang::topk_op<0, 2>, apart>(seed{2})));
  BOOST_TEST((check_operation<lang::topk_op<1, 3, false>, apart>(seed{2})));
  BOOST_TEST((check_operation<lang::cumsum_op<0, false>, apart>()));
  BOOST_TEST((check_operation<lang::cumsum_op<-1, true>, apart>()));
  BOOST_TEST((check_operation<lang::gather_along_op<-1>, a, at>()));
  BOOST_TEST((check_operation<lang::gather_along_op<0>, indices<"table", 9, 4, 6>, below>()));
  BOOST_TEST((check_operation<lang::scatter_add_along_op<1>, a, at, v>()));
  BOOST_TEST((check_operation<lang::scatter_add_along_op<0>, apart, below, param<"many", 40, 6>>()));
}
// Numbers that are further apart than the steps of differences, so that the order stays the same.
BOOST_AUTO_TEST_CASE(gradients_of_sorts) {
  constexpr auto x = a * 0.1_c + input<"apart", 3, 5>;
  constexpr auto y =
      square(sort<-1>(x)) * cumsum<0>(sort<0>(x, descending)) +
      sum(exp(topk<3>(x)) * topk<3>(x, smallest)) * gather_along<1>(square(x), argsort<1>(x, descending));
  std::array<double, 15> numbers;
  for (std::size_t i = 0; i < 15; ++i) numbers[i] = 0.2 * static_cast<double>(i * 7 % 15) - 1;
  const auto bound = bind<"apart">(numbers);
  check<weighted(y)>(bound);
  check<sum(square(grad(weighted(y), a)))>(bound);
}
BOOST_AUTO_TEST_CASE(gradients_along_an_axis) {
  constexpr auto y = scatter_add_along<1>(square(a), at, exp(v)) * cumsum<1>(a) +
                     sum(gather_along<-1>(square(b), at) * v, keepdim) * cumsum<-2>(square(b));
  check<weighted(y)>(bind<"at">(positions));
  check<sum(square(grad(weighted(y), v))) + sum(square(grad(weighted(y), b)))>(bind<"at">(positions));
}
// Doubles of a program over floats have gradients, too.
BOOST_AUTO_TEST_CASE(doubles_in_a_program_over_floats) {
  constexpr auto loss = [](auto x) {
    return sum(as_real(square(sort<1>(x)) * gather_along<1>(exp(x), argsort<1>(x)))) +
           sum(as_real(topk<3>(x) * cumsum<1>(topk<3>(x, smallest)))) + sum(as_real(square(cholesky(matmul(x, transpose(x))))));
  };
  program<loss(as<double>(a))> step;
  program<loss(a), real<double>> in_double;
  step.init(seed{3});
  in_double.init(seed{3});
  const double difference = static_cast<double>(step.value_and_grad()) - in_double.value_and_grad();
  BOOST_TEST(std::abs(difference) < 1e-4);
  for (std::size_t i = 0; i < 15; ++i)
    BOOST_TEST(std::abs(static_cast<double>(step.grad<"a">().begin()[i]) - in_double.grad<"a">().begin()[i]) < 1e-4);
}
// Sorts, running sums and lookups in segments, in a scan, and in mixed precision.
constexpr auto body = [](auto h) { return tanh(cumsum<1>(sort<1>(h)) + gather_along<1>(h, argsort<1>(h))); };
BOOST_AUTO_TEST_CASE(in_segments_and_loops) {
  constexpr auto loop = scan<3, "loop">(body, carried(a));
  constexpr auto stored = weighted(body(body(a)) + loop);
  constexpr auto recomputed = weighted(ckpt<"outer">([](auto h) { return body(body(h)); }, a) + loop);
  program<stored, real<double>> one;
  program<recomputed, real<double>> other;
  program<recomputed, mixed<bf16>> rounded;
  const auto run = [](auto& step) {
    step.init(seed{3});
    return static_cast<double>(step.value_and_grad());
  };
  const double value = run(one);
  BOOST_TEST(value == run(other));
  BOOST_TEST(std::abs(run(rounded) - value) < 0.1);
  const auto g = one.grad<"a">(), h = other.grad<"a">();
  BOOST_TEST(std::equal(g.data(), g.data() + 15, h.data()));
}
BOOST_AUTO_TEST_CASE(values_of_pytorch) {
  agrees<sort<-1>(a) * b + square(sort<0>(b, descending))>("sorts");
  agrees<topk<3>(a) * square(topk<3, 1>(b)) + sum(topk<2, 0>(b) * as_real(argtopk<2, 0>(a)))>("largest_elements");
  agrees<topk<2>(a, smallest) * square(topk<2>(b)) + sum(as_real(argtopk<3, 0>(b, smallest)) * a)>("smallest_elements");
  agrees<gather_along<1>(a, argsort<1>(b, descending)) * b + as_real(argsort<0>(a)) * a>("sorted_positions");
  agrees<cumsum<1>(a) * cumsum<-2>(square(b))>("running_sums");
  agrees<gather_along<-1>(a, at) * v + sum(scatter_add_along<1>(a, at, square(v)) * b)>("along_an_axis",
                                                                                        bind<"at">(positions));
  constexpr auto bias = param<"bias", 6, 2>;
  constexpr auto distances = as_indices<6>(generated<3, 4>([](int i, int j) { return j - i + 2; }));
  agrees<transpose<2, 0, 1>(gather<0>(bias, distances)) * param<"x", 2, 3, 4> +
         sum(gather<0>(bias, transpose(distances)))>("relative_positions");
}

BOOST_AUTO_TEST_SUITE_END()
