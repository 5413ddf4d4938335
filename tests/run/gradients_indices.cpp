// Compares gradients through indices, and gradients of extrema, with finite differences.
#include <array>

#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_through_indices)

constexpr auto a = param<"a", 3, 4>;
constexpr auto t = param<"t", 2, 3, 4>;

// Gathers along three axes, with positions that occur twice and positions that do not occur. Some tables are indices
// themselves.
BOOST_AUTO_TEST_CASE(gathers) {
  const std::array<std::int32_t, 6> rows{1, 0, 1, 1, 0, 1}, columns{3, 0, 2, 0, 3, 3};
  constexpr auto i = indices<"i", 2, 3, 2>;
  constexpr auto j = indices<"j", 4, 6>;
  check<weighted(square(gather<0>(square(t), i)))>(bind<"i">(rows));
  check<weighted(square(gather<1>(square(t), i)))>(bind<"i">(rows));
  check<weighted(square(gather<-1>(square(t), j)))>(bind<"j">(columns));
  check<weighted(gather<0>(exp(param<"v", 4>), j))>(bind<"j">(columns));
  check<weighted(exp(gather<0>(a, slice<0, 1, 2>(gather<0>(i, slice<0, 0, 2>(i))))))>(bind<"i">(rows));
  check<weighted(square(gather<1>(a, j)) + gather<0>(square(param<"u", 4, 6>), slice<0, 1, 4>(j)))>(bind<"j">(columns));
  check<weighted(matmul(one_hot(j), param<"w", 4, 5>))>(bind<"j">(columns));
}
// The gradient of a tied head is the sum of two gradients.
BOOST_AUTO_TEST_CASE(embeddings) {
  const std::array<std::int32_t, 6> rows{1, 0, 3, 1, 2, 1};
  constexpr auto i = indices<"i", 4, 2, 3>;
  check<weighted(square(i | nn::embedding<"wte", 5>))>(bind<"i">(rows));
  constexpr auto h = nn::rotary(reshape<2, 3, 1, 6>(tanh(i | nn::embedding<"wte", 6>)), i);
  constexpr auto loss = cross_entropy(reshape<2, 3, 6>(h) | nn::tied_linear<"/wte.weight", 4>, i);
  check<loss + sum(square(grad(loss, param<"wte.weight", 4, 6>)))>(bind<"i">(rows));
}
BOOST_AUTO_TEST_CASE(placed_rows) {
  const std::array<std::int32_t, 1> at{1};
  constexpr auto i = indices<"i", 2, 1>;
  constexpr auto rows = param<"rows", 2, 2, 4>;
  constexpr auto all = placed<1>(square(t), i, square(rows));
  check<weighted(square(all))>(bind<"i">(at));
  check<weighted(exp(placed<-2>(t, i, rows)) * t)>(bind<"i">(at));
  check<sum(square(grad(weighted(square(all)), rows)))>(bind<"i">(at));
  check<sum(square(grad(sum(square(grad(weighted(square(all)), rows))), rows)))>(bind<"i">(at));
}
// The gradient of a gradient gathers again, and the gradient of this gather is a scatter-add.
BOOST_AUTO_TEST_CASE(gathers_to_third_order) {
  const std::array<std::int32_t, 6> columns{3, 0, 2, 0, 3, 3};
  constexpr auto v = param<"v", 4, 2>;
  constexpr auto f = weighted(exp(gather<0>(square(v), indices<"j", 4, 6>)));
  constexpr auto slope = grad(f, v);
  check<sum(square(slope))>(bind<"j">(columns));
  check<sum(square(grad(sum(slope * slope), v)))>(bind<"j">(columns));
}
// The indices are read from real numbers, which are bound or generated.
BOOST_AUTO_TEST_CASE(gathers_at_numbers) {
  const std::array<double, 6> columns{3, 0, 2, 0, 3, 3};
  constexpr auto v = param<"v", 4, 2>;
  constexpr auto distance = as_indices<4>(generated<3, 2>([](int i, int j) { return i - j + 1; }));
  constexpr auto f = weighted(exp(gather<0>(square(v), as_indices<4>(input<"j", 6>))));
  check<f>(bind<"j">(columns));
  check<sum(square(grad(f, v)))>(bind<"j">(columns));
  check<weighted(square(gather_along<0>(square(v), distance)))>();
  check<weighted(square(distance | nn::embedding<"bias", 3>))>();
}
// Numbers that are further apart than the steps of differences, so that the largest number stays the largest.
BOOST_AUTO_TEST_CASE(extrema) {
  constexpr auto apart = t * 0.1_c + input<"apart", 2, 3, 4>;
  std::array<double, 24> numbers;
  for (std::size_t i = 0; i < 24; ++i) numbers[i] = 0.1 * static_cast<double>(i * 7 % 24);
  const auto bound = bind<"apart">(numbers);
  check<weighted(square(max(apart)))>(bound);
  check<weighted(square(max<0>(apart)))>(bound);
  check<weighted(exp(max<-1>(square(apart), keepdim)))>(bound);
  check<weighted(square(min<1>(apart)))>(bound);
  check<weighted(square(min<0, 2>(apart, keepdim) * max<0, 2>(exp(apart), keepdim)))>(bound);
  check<weighted(exp(apart - max<-1>(apart, keepdim)))>(bound);
  check<weighted(apart * mean(gather<1>(square(a), argmax<-1>(apart))))>(bound);
  check<weighted(square(apart) * one_hot(argmin<-1>(apart)))>(bound);
  check<sum(square(grad(sum(exp(max<-1>(square(apart)))), t)))>(bound);
}
// Equal extrema share the gradient, as in torch.amax and jnp.max.
BOOST_AUTO_TEST_CASE(equal_extrema_share_the_gradient) {
  constexpr auto v = param<"v", 2, 4>;
  constexpr auto largest = outputs(sum(max<-1>(v) * frozen<"w", 2>), argmax<-1>(v), argmin<-1>(v));
  program<largest> step;
  std::ranges::copy(std::array{3.F, 1.F, 3.F, 3.F, -1.F, -1.F, -2.F, 0.F}, step.param<"v">().begin());
  std::ranges::copy(std::array{6.F, 5.F}, step.param<"w">().begin());
  const auto [value, most, least] = step.value_and_grad();
  BOOST_TEST(value == 18);
  BOOST_TEST(std::ranges::equal(step.grad<"v">(), std::array{2.F, 0.F, 2.F, 2.F, 0.F, 0.F, 0.F, 5.F}));
  BOOST_TEST(std::ranges::equal(most, std::array{0, 3}));
  BOOST_TEST(std::ranges::equal(least, std::array{1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
