// Compares the gradient of each operation on whole tensors with finite differences.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_tensor_operations)

constexpr auto a = param<"a", 3, 4>;
constexpr auto t = param<"t", 2, 3, 4>;

BOOST_AUTO_TEST_CASE(sums_and_means) {
  check<weighted(sum(square(t)))>();
  check<weighted(sum<0>(square(t)))>();
  check<weighted(sum<-1>(square(t)))>();
  check<weighted(sum<0, 2>(square(t)))>();
  check<weighted(sum<1>(square(t), keepdim))>();
  check<weighted(mean(square(t)))>();
  check<weighted(mean<1>(square(t)))>();
  check<weighted(mean<-1>(square(t), keepdim))>();
}
BOOST_AUTO_TEST_CASE(products) {
  check<weighted(matmul(a, param<"b", 4, 5>))>();
  check<weighted(matmul(transpose(a), param<"b", 3, 5>))>();
  check<weighted(matmul(a, transpose(param<"b", 5, 4>)))>();
  check<weighted(matmul(transpose(a), transpose(param<"b", 5, 3>)))>();
}
BOOST_AUTO_TEST_CASE(batched_products) {
  check<weighted(matmul(t, param<"b", 4, 5>))>();
  check<weighted(matmul(t, transpose(param<"b", 5, 4>)))>();
  check<weighted(matmul(t, param<"b", 2, 4, 5>))>();
  check<weighted(matmul(transpose(t), param<"b", 2, 3, 5>))>();
  check<weighted(matmul(a, param<"b", 2, 4, 5>))>();
  check<weighted(matmul(param<"c", 3, 1, 2, 4>, param<"b", 2, 4, 5>))>();
  check<weighted(matmul(transpose(t), param<"b", 3, 5>))>();
}
BOOST_AUTO_TEST_CASE(linear_systems) {
  constexpr auto b = param<"b", 2, 3, 2>;
  constexpr auto c = param<"c", 2, 3, 3>;
  constexpr auto symmetric = matmul(c, transpose(c)) + one_hot(arange<3>);
  check<weighted(solve(c + 2_c * one_hot(arange<3>), b))>();
  check<weighted(solve(symmetric, symmetric * c))>();  // one value in both arguments
  check<weighted(cholesky(symmetric))>();
  check<weighted(grad(sum(square(solve(c + 2_c * one_hot(arange<3>), b))), c))>();
  check<weighted(grad(sum(square(cholesky(symmetric))), c))>();
}
BOOST_AUTO_TEST_CASE(views) {
  check<weighted(square(reshape<4, 6>(square(t))))>();
  check<weighted(square(reshape<-1, 2>(square(t))))>();
  check<weighted(square(transpose(square(t))))>();
  check<weighted(square(transpose<2, 0, 1>(square(t))))>();
}
BOOST_AUTO_TEST_CASE(concatenations) {
  check<weighted(square(concatenate<0>(a, exp(a))))>();
  check<weighted(square(concatenate<-1>(a, param<"b", 3, 1>, square(a))))>();
  check<weighted(square(concatenate<1>(t, param<"b", 2, 1, 4>, exp(t), param<"c", 2, 2, 4>)))>();
  constexpr auto rows = param<"b", 1, 4>;
  check<weighted(square(concatenate<0>(a, rows, exp(a), rows, square(rows), param<"c", 2, 4>)))>();
}
BOOST_AUTO_TEST_CASE(slices) {
  check<weighted(square(slice<0, 1, 2>(square(t))))>();
  check<weighted(square(slice<1, 0, 2>(square(t))))>();
  check<weighted(square(slice<-1, -3, -1>(square(t))))>();
  check<weighted(slice<1, 1>(a) * slice<1, 0, -1>(exp(a)))>();
  check<weighted(concatenate<0>(slice<0, 2>(a), slice<0, 0, 2>(square(a))))>();
}
// The gradient of a slice adds zeros around it, and the gradient of this operation is a slice again.
BOOST_AUTO_TEST_CASE(zeros_around_an_axis) {
  check<weighted(square(make<lang::pad_op<1, 1, 6>>(exp(a))))>();
  check<weighted(square(make<lang::pad_op<-3, 2, 4>>(exp(t))))>();
}
BOOST_AUTO_TEST_CASE(split_pad_stack_and_flip) {
  constexpr auto moved = layer([](auto x) {
    const auto [first, second, third] = split<1, 3>(exp(x));
    const auto bordered = pad<1, 0, 2>(pad<-1, 3, 1>(first * third));
    const auto stacked = stack<1>(flip<0, -1>(second), third, flip<1>(first));
    return weighted(square(stacked) * reshape<2, 3, 1, 4>(exp(slice<-1, 2, 6>(bordered))));
  });
  constexpr auto loss = t | moved;
  check<loss + sum(square(grad(loss, t)))>();
}
BOOST_AUTO_TEST_CASE(a_detached_factor_is_a_constant) {
  program<sum(detach(param<"x", 4>) * param<"x", 4>), real<double>> step;
  step.init(seed{1});
  step.value_and_grad();
  const auto x = step.param<"x">();
  const auto g = step.grad<"x">();
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(g(i) == x(i));
}
BOOST_AUTO_TEST_CASE(softmaxes) {
  check<weighted(softmax(t * 3_c))>();
  check<weighted(softmax<1>(t * 3_c))>();
  check<weighted(softmax<0>(t * 3_c))>();
  check<weighted(log_softmax(t * 3_c))>();
  check<weighted(log_softmax<-2>(t * 3_c))>();
}
BOOST_AUTO_TEST_CASE(means_and_variances) {
  constexpr auto of = layer([](auto x) {
    const auto [mean, scale, variance] = make<lang::moments_op<0.1>>(x);
    return mean * variance + tanh(variance * scale) + scale;
  });
  constexpr auto loss = weighted(exp(t) | of);
  check<loss + sum(square(grad(loss, t)))>();
}
BOOST_AUTO_TEST_CASE(logsumexp_norms_and_standard_deviations) {
  constexpr auto y = logsumexp<0, -1>(t * 3_c, keepdim) * stddev<0>(t) +
                     vector_norm<1>(t, keepdim) * logsumexp(t) * stddev(a, biased) + logsumexp<-1>(t, keepdim);
  check<weighted(y)>();
  check<weighted(grad(sum(square(y)), t))>();
  constexpr auto inside = t | ckpt<"s">(layer([](auto x) { return logsumexp<0>(exp(x)) * stddev<0>(sin(x)); }));
  check<weighted(square(inside))>();
}
/// The values and the gradients are those of PyTorch.
BOOST_AUTO_TEST_CASE(logsumexp_of_large_and_infinite_numbers) {
  constexpr auto x = input<"x", 5, 3>;
  program<outputs(sum(logsumexp<-1>(x)), logsumexp<-1>(x)), wrt<"x">> step;
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> rows{-infinity, -infinity, -infinity, 1000, 999, -infinity, infinity, 100,
                                2,         -1e4,      -1e4,      -1e4, nan, 1,         -1};
  const auto [sum, y] = step.value_and_grad(bind<"x">(rows));
  BOOST_TEST(y(0) == -infinity);
  BOOST_TEST(y(1) == 1000.3132617F);
  BOOST_TEST(y(2) == infinity);
  BOOST_TEST(y(3) == -9998.9013877F);
  BOOST_TEST(std::isnan(y(4)));
  const auto g = step.grad<"x">();
  BOOST_TEST(g(1, 0) == 0.7310586F, boost::test_tools::tolerance(1e-6F));
  BOOST_TEST(g(1, 2) == 0);
  BOOST_TEST(g(2, 1) == 0);
  BOOST_TEST(g(3, 1) == 1 / 3.0F, boost::test_tools::tolerance(1e-6F));
}
// Squares of floats are infinite beyond 1e19 and 0 below 1e-23 (docs/numbers.md).
BOOST_AUTO_TEST_CASE(range_of_norms_and_deviations) {
  constexpr auto x = input<"x", 2, 3>;
  program<outputs(sum(vector_norm<-1>(x) + stddev<-1>(x)), vector_norm<-1>(x), stddev<-1>(x)), wrt<"x">> step;
  const auto [sum, norms, deviations] =
      step.value_and_grad(bind<"x">(std::array{3e20F, -3e20F, 1e20F, 3e-24F, -3e-24F, 1e-24F}));
  BOOST_TEST(std::isinf(norms(0)));
  BOOST_TEST(std::isinf(deviations(0)));
  BOOST_TEST(norms(1) == 0);
  BOOST_TEST(deviations(1) == 0);
  for (const float g : step.grad<"x">()) BOOST_TEST(g == 0);
}
BOOST_AUTO_TEST_CASE(roots_of_zero_have_no_slope) {
  constexpr auto x = param_from<"x", initial::constant(0), 3, 4>;
  program<sum(vector_norm<-1>(x) + stddev<-1>(x)), real<double>> step;
  step.init(seed{1});
  BOOST_TEST(step.value_and_grad() == 0);
  for (const double g : step.grad<"x">()) BOOST_TEST(g == 0);
}
BOOST_AUTO_TEST_CASE(stretched_and_repeated_axes) {
  check<weighted(square(expand<2, -1, 4>(unsqueeze<1>(sum<-1>(exp(a))))))>();
  check<weighted(squeeze<1, -1>(reshape<3, 1, 4, 1>(square(a))) * tile<2>(param<"b", 2>))>();
  constexpr auto y = square(tile<2, 3>(square(a))) * tile<2, 1, 3>(square(param<"b", 6, 4>));
  check<weighted(y)>();
  check<weighted(grad(sum(y), a))>();
}
BOOST_AUTO_TEST_CASE(cross_entropy_and_other_losses) {
  const std::array<std::int32_t, 6> classes{0, 3, 1, 2, 3, 0};
  check<cross_entropy(t * 3_c, labels<"classes", 4, 2, 3>)>(bind<"classes">(classes));
  constexpr auto counted = cross_entropy<nn::cross_entropy_options{.ignore_index = 5, .label_smoothing = 0.2}>(
      t * 3_c, labels<"classes", 6, 2, 3>, square(param<"by class", 4>), square(param<"by row", 2, 3>));
  const std::array<std::int32_t, 6> some{0, 5, 1, 2, 3, 0};
  check<counted + sum(square(grad(counted, t)))>(bind<"classes">(some));
  program<counted, real<double>> step;
  step.init(seed{1});
  BOOST_TEST(std::isnan(step.value_and_grad(bind<"classes">(std::array{0, 5, 4, 2, 3, 0}))));  // 4 is no class
  BOOST_TEST(std::isnan(step.value_and_grad(bind<"classes">(std::array{5, 5, 5, 5, 5, 5}))));  // no row counts
  check<mse(t, frozen<"goal", 2, 3, 4>)>();
  constexpr auto goal = square(param<"row", 2, 3, 4>);
  constexpr auto others = nn::l1(t, goal) + huber<0.3>(t, goal) + binary_cross_entropy_with_logits(t, goal) + var(t);
  check<others + sum(square(grad(others, t)))>();
  check<outputs(cross_entropy(t, labels<"classes", 4, 2, 3>), accuracy(t, labels<"classes", 4, 2, 3>))>(
      bind<"classes">(classes));
}
BOOST_AUTO_TEST_CASE(losses_of_probabilities_and_embeddings) {
  constexpr auto other = param<"row", 2, 3, 4>;
  constexpr auto p = softmax(other);
  constexpr auto soft = soft_cross_entropy(t * 3_c, p) + kl_div(log_softmax(t), p);
  check<soft + sum(square(grad(soft, t))) + sum(square(grad(soft, other)))>();
  const std::array<std::int32_t, 6> some{0, 5, 1, 2, 3, 0};
  constexpr auto counted = nll_loss<nn::nll_loss_options{.ignore_index = 5}>(
      square(t), labels<"classes", 6, 2, 3>, square(param<"by class", 4>), square(param<"by row", 2, 3>));
  check<counted + sum(square(grad(counted, t)))>(bind<"classes">(some));
  constexpr auto alike = generated<2, 3>([](int i, int j) { return (i + j) % 2 == 0 ? 1.0 : -1.0; });
  constexpr auto similar = cosine_embedding_loss<-0.9>(t, other, alike) + triplet_loss(t, other, t * other);
  check<similar + sum(square(grad(similar, t)))>();
}

BOOST_AUTO_TEST_SUITE_END()
