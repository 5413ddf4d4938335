// Operations and layers compute the same values and gradients as PyTorch's, in double.
#include "torch_values.hpp"

/// Returns the numbers that a predictor of Y computes. Y has no parameters.
template <auto Y, class... Bound>
std::vector<double> predicted(const Bound&... inputs) {
  program<sum(param<"unread", 1>), real<double>> trained;
  predictor<Y, real<double>> predict{trained};
  if constexpr (decltype(Y)::shape.rank == 0) {
    return {predict(inputs...)};
  } else {
    const auto numbers = predict(inputs...);
    return {numbers.begin(), numbers.end()};
  }
}

BOOST_AUTO_TEST_SUITE(torch_values)

constexpr auto a = param<"a", 3, 5>;

BOOST_AUTO_TEST_CASE(elementwise) {
  agrees<sigmoid(a)>("sigmoid");
  agrees<gelu(a)>("gelu");
  constexpr auto row = param<"row", 5>;
  constexpr auto positive = square(row) + 0.1_c;
  agrees<sin(a) * cos(row) + log1p(positive) * rsqrt(positive) + softplus(3_c * a) * silu(a) +
         abs(a) * minimum(a, row) + pow(positive, 2.3_c) + leaky_relu(a) * leaky_relu<0.2>(row)>("functions");
  agrees<where(a < row, a * row, square(row)) + clamp(a, -0.5_c, 0.5_c) * row + where(a >= 0_c, row, a) +
         clamp(a, 0.5_c, -0.25_c) * row>("choices");
  constexpr auto one = param<"ab", 3, 5>;  // the formula for values makes both parameters equal
  constexpr auto same = param<"ba", 3, 5>;
  agrees<minimum(one, same) * 2_c + clamp(one, same, 6_c) + abs(one - same) + leaky_relu<0.2>(one - same) +
         clamp(one - same, 0_c, 6_c) * 3_c + clamp(one - same, -6_c, 0_c) * 5_c + where(one == same, one * 7_c, same)>(
      "ties");
  agrees<sign(a) * row + sign(one - same) * 7_c + a * one * same>("signs");
  agrees<erf(2_c * a) * row + floor(3_c * a) * a + ceil(3_c * row) * row + round(a + 0.5_c) * row>("whole_numbers");
}
BOOST_AUTO_TEST_CASE(rolls_and_shifts) {
  constexpr auto b = param<"b", 3, 5>;
  agrees<roll<-1, 2>(a) * a + roll<0, -4>(square(a)) * roll<1, 8>(b)>("rolls");
  agrees<nn::shift<-1, 1>(a) * b +
         nn::shift<0, -2, nn::edge::nearest>(a) * nn::shift<1, 3, nn::edge::nearest>(square(b)) +
         nn::shift<1, -4>(b) * a>("shifts");
}
BOOST_AUTO_TEST_CASE(variances_and_losses) {
  constexpr auto x = param<"x", 2, 3, 4>;
  agrees<var<0, -1>(x, keepdim) * sum(var<1>(x, biased)) + var(x)>("variances");
  constexpr auto b = param<"b", 3, 5>;
  agrees<nn::l1(a, b) + 2_c * huber<0.7>(3_c * a, b) + 3_c * huber(a, b) +
         binary_cross_entropy_with_logits(9_c * a, square(b))>("losses");
}
BOOST_AUTO_TEST_CASE(activations) {
  constexpr auto b = param<"b", 3, 5>;
  agrees<elu(3_c * a) * b + elu<0.3>(b) + hardsigmoid(5_c * a) * hardswish(5_c * b) + mish(4_c * a) +
         gelu_tanh(4_c * b)>("more_activations");
  constexpr auto zero = param<"ab", 3, 5> - param<"ba", 3, 5>;  // the formula for values makes both parameters equal
  agrees<elu(zero) + 2_c * elu<0.3>(zero) + mish(zero) + hardswish(zero) + gelu_tanh(zero)>("activations_at_zero");
}
BOOST_AUTO_TEST_CASE(linear_systems) {
  constexpr auto b = param<"b", 2, 4, 3>;
  constexpr auto c = param<"c", 2, 4, 4>;
  constexpr auto eye = one_hot(arange<4>);
  agrees<solve(param<"a", 2, 4, 4> * (1_c - eye), b) + matmul(cholesky(matmul(c, transpose(c)) + eye), b)>("systems");
}
BOOST_AUTO_TEST_CASE(reductions) {
  constexpr auto x = param<"x", 2, 3, 4>;
  agrees<logsumexp<0, -1>(x, keepdim) * stddev<0, 1>(x) + vector_norm<0, 2>(x, keepdim) * logsumexp<1>(x, keepdim) +
         stddev(x, biased) + vector_norm(x) + logsumexp(1000_c * x)>("more_reductions");
  constexpr auto rows = param<"x", 3, 5> * generated<3, 1>([](int i, int) { return i == 1; });
  agrees<vector_norm<-1>(rows) + stddev<-1>(rows)>("zero_roots");
}
BOOST_AUTO_TEST_CASE(masks_and_stretched_axes) {
  constexpr auto row = param<"row", 5>;
  agrees<masked_fill(a, row < 0_c, 2.5_c) * row>("masked_fills");
  constexpr auto five = squeeze<0>(slice<0, 0, 1>(slice<1, 0, 5>(tile<2>(a))));
  constexpr auto squares = sum<0>(expand<2, -1, 5>(squeeze<1>(reshape<5, 1, 1>(row)) * five));
  agrees<unsqueeze<1>(a) * unsqueeze<0>(unsqueeze<-1>(row)) + squares * unsqueeze<-2>(a) +
         expand<3, 1, -1>(square(row))>("stretched_axes");
  agrees<tile<2, 1, 3>(a) * sum(tile<2, 1>(square(a))) + tile<2, 3, 3>(row)>("tiles");
}
BOOST_AUTO_TEST_CASE(cross_entropies) {
  using options = nn::cross_entropy_options;
  constexpr auto x = param<"x", 2, 3, 4, 5>;
  constexpr auto row = square(param<"row", 2, 3, 4>);
  constexpr auto y = labels<"y", 5, 2, 3, 4>;
  constexpr auto z = labels<"z", 256, 2, 3, 4>;  // 255 is no class
  constexpr auto w = generated<5>([](int i) { return 1.0 / (1 + i); });
  std::vector<std::int32_t> classes(24), ignored(24);
  for (std::size_t i = 0; i < 24; ++i) {
    classes[i] = static_cast<std::int32_t>(i * i % 5);
    ignored[i] = i % 4 == 0 ? 255 : classes[i];
  }
  agrees<cross_entropy(x, y) + 2_c * cross_entropy<options{.label_smoothing = 0.1}>(x, y) +
         3_c * cross_entropy<options{.ignore_index = 4}>(x, y, w) + 4_c * cross_entropy(x, y, 1_c, row)>(
      "cross_entropies", bind<"y">(classes));
  agrees<cross_entropy<options{.ignore_index = 255}>(x, z) +
         2_c * cross_entropy<options{.ignore_index = 255, .label_smoothing = 0.3}>(3_c * x, z, w, row)>(
      "cross_entropies_ignored", bind<"z">(ignored));
}
BOOST_AUTO_TEST_CASE(losses_of_probabilities) {
  constexpr nn::nll_loss_options without_255{.ignore_index = 255}, without_4{.ignore_index = 4};
  constexpr auto logits = param<"x", 2, 3, 4, 5>;
  constexpr auto y = labels<"y", 5, 2, 3, 4>;
  constexpr auto z = labels<"z", 256, 2, 3, 4>;  // 255 is no class
  constexpr auto w = generated<5>([](int i) { return 1.0 / (1 + i); });
  std::vector<std::int32_t> classes(24), ignored(24);
  for (std::size_t i = 0; i < 24; ++i) {
    classes[i] = static_cast<std::int32_t>(i * i % 5);
    ignored[i] = i % 4 == 0 ? 255 : classes[i];
  }
  agrees<nll_loss(logits, y) + 2_c * nll_loss<without_4>(logits, y, w) +
         3_c * nll_loss<without_255>(logits, z, w, square(param<"row", 2, 3, 4>))>("nll_losses", bind<"y">(classes),
                                                                                   bind<"z">(ignored));
  constexpr auto x = param<"x", 2, 3, 5>;
  constexpr auto p = param<"p", 2, 3, 5>;
  agrees<soft_cross_entropy(3_c * x, square(p)) +
         2_c * soft_cross_entropy(slice<0, 1, 2>(x), softmax(slice<0, 1, 2>(p)))>("soft_cross_entropies");
  constexpr auto rows = param<"x", 4, 5>;
  constexpr auto targets = param<"p", 4, 5>;
  agrees<kl_div(log_softmax(rows), square(targets)) + 2_c * kl_div(3_c * rows, detach(relu(targets)))>(
      "kl_divergences");
}
/// A class with the probability 0 adds nothing to a divergence. The slope by this probability is -log q. A logit that is
/// minus infinity makes a cross entropy NaN.
BOOST_AUTO_TEST_CASE(probabilities_of_zero) {
  program<kl_div(input<"log q", 2>, param<"p", 2>), real<double>> divergence;
  divergence.param<"p">().data()[0] = 0;
  divergence.param<"p">().data()[1] = 1;
  BOOST_TEST(divergence.value_and_grad(bind<"log q">(std::array{-3.0, -0.5})) == 0.5);
  BOOST_TEST(divergence.grad<"p">().data()[0] == 3.0);
  BOOST_TEST(divergence.grad<"p">().data()[1] == 1.5);
  constexpr auto loss = soft_cross_entropy(input<"x", 2>, input<"p", 2>);
  const auto p = bind<"p">(std::array{0.0, 1.0});
  BOOST_TEST(predicted<loss>(bind<"x">(std::array{-1000.0, 1000.0}), p)[0] == 0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  BOOST_TEST(std::isnan(predicted<loss>(bind<"x">(std::array{-infinity, 0.0}), p)[0]));
}
BOOST_AUTO_TEST_CASE(losses_of_embeddings) {
  agrees<cosine_similarity(reshape<3, 1, 5>(a), param<"b", 4, 5>)>("cosines");
  constexpr auto x = param<"x", 4, 6>;
  constexpr auto y = param<"y", 4, 6>;
  constexpr auto z = param<"z", 4, 6>;
  constexpr auto alike = generated<4>([](int i) { return i == 0 || i == 3 ? 1.0 : -1.0; });
  constexpr auto some_zeros = generated<4, 1>([](int i, int) { return i == 3 ? 0.0 : 1.0; });
  agrees<triplet_loss(x, y, z) + 2_c * triplet_loss<5>(x, x, z) + 3_c * cosine_embedding_loss(x, y, alike) +
         4_c * cosine_embedding_loss<-0.9>(z, y, alike) + 5_c * cosine_embedding_loss(x * some_zeros, z, alike)>(
      "embedding_losses");
  constexpr auto u = input<"u", 2>;
  BOOST_TEST(predicted<cosine_embedding_loss(u, u, 0_c * sum(u))>(bind<"u">(std::array{1.0, 2.0}))[0] == 0);
}
BOOST_AUTO_TEST_CASE(measures) {
  constexpr auto scores = input<"scores", 24, 5>;
  constexpr auto y = labels<"y", 5, 24>;
  std::vector<double> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = filled("scores", i);
  std::vector<std::int32_t> classes(24);
  for (std::size_t i = 0; i < 24; ++i) classes[i] = static_cast<std::int32_t>(i * i % 5);
  const auto measured = [&]<auto Measure>() { return predicted<Measure>(bind<"scores">(values), bind<"y">(classes)); };
  compare("top_k_accuracies", std::array{measured.operator()<top_k_accuracy<1>(scores, y)>()[0],
                                         measured.operator()<top_k_accuracy<2>(scores, y)>()[0],
                                         measured.operator()<top_k_accuracy<3>(scores, y)>()[0],
                                         measured.operator()<top_k_accuracy<5>(scores, y)>()[0]});
  compare("confusion_matrix", measured.operator()<confusion_matrix(scores, y)>());
}
/// Rows: a tie of the two largest logits, NaN at the label, NaN elsewhere, and a row that pads the batch.
BOOST_AUTO_TEST_CASE(measures_of_unusual_rows) {
  constexpr auto logits = input<"x", 4, 3>;
  constexpr auto y = labels<"y", 4, 4>;  // 3 is no class
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = bind<"x">(std::array{7.0, 7.0, 1.0, nan, 1.0, 2.0, nan, 3.0, 2.0, 1.0, 2.0, 3.0});
  const auto at = bind<"y">(std::array{1, 0, 1, 3});
  BOOST_TEST(predicted<top_k_accuracy<1>(logits, y)>(x, at)[0] == 0.25);
  BOOST_TEST(predicted<top_k_accuracy<2>(logits, y)>(x, at)[0] == 0.5);
  const std::vector<double> counts{1, 0, 0, 2, 0, 0, 0, 0, 0};
  BOOST_TEST(predicted<confusion_matrix(logits, y)>(x, at) == counts, boost::test_tools::per_element());
}
BOOST_AUTO_TEST_CASE(linear_cross_entropies) {
  using options = nn::linear_cross_entropy_options;
  constexpr auto x = param<"x", 2, 3, 4, 6>;
  constexpr auto row = square(param<"row", 2, 3, 4>);
  constexpr auto y = labels<"y", 5, 2, 3, 4>;
  constexpr auto w = generated<5>([](int i) { return 1.0 / (1 + i); });
  constexpr auto sum_of_all = [=]<nn::pass Pass>() {
    constexpr options in{.weight_gradient_in = Pass, .workspace = 1};
    constexpr options smoothed{.label_smoothing = 0.1, .weight_gradient_in = Pass, .workspace = 1};
    constexpr options ignoring{.ignore_index = 4, .weight_gradient_in = Pass, .workspace = 1};
    return nn::linear_cross_entropy<"head", 5, in>(x, y) +
           2_c * nn::tied_linear_cross_entropy<"/head.weight", 5, smoothed>(x, y) +
           3_c * nn::tied_linear_cross_entropy<"/head.weight", 5, ignoring>(x, y, w) +
           4_c * nn::tied_linear_cross_entropy<"/head.weight", 5, in>(x, y, 1_c, row);
  };
  std::vector<std::int32_t> classes(24);
  for (std::size_t i = 0; i < 24; ++i) classes[i] = static_cast<std::int32_t>(i * i % 5);
  agrees<sum_of_all.operator()<nn::pass::forward>()>("linear_cross_entropies", bind<"y">(classes));
  agrees<sum_of_all.operator()<nn::pass::backward>()>("linear_cross_entropies", bind<"y">(classes));
}
BOOST_AUTO_TEST_CASE(convolutions) {
  constexpr auto x = param<"x", 2, 7, 8, 3>;
  agrees<conv2d<nn::window{.padding = 1}>(param<"x", 2, 5, 6, 3>, param<"w", 4, 3, 3, 3>)>("conv2d");
  agrees<conv2d<nn::window{.stride = 2, .padding = 2, .dilation = 2}>(x, param<"w", 4, 3, 3, 2>)>("conv2d_stride");
  agrees<conv2d<nn::window{.stride = 2, .padding = 1, .groups = 2}>(param<"x", 2, 7, 6, 4>, param<"w", 6, 2, 3, 3>)>(
      "conv2d_groups");
  agrees<conv2d<nn::window{.padding = 1, .groups = 5}>(param<"x", 2, 4, 6, 5>, param<"w", 5, 1, 3, 3>)>(
      "conv2d_depthwise");
  agrees<conv2d<nn::window{.groups = 3}>(param<"x", 1, 4, 5, 3>, param<"w", 6, 1, 2, 3>)>("conv2d_multiplier");
  agrees<conv2d<nn::window{.padding = 1}>(param<"x", 2, 4, 5, 1>, param<"w", 1, 1, 3, 3>)>("conv2d_one_to_one");
  agrees<conv2d(param<"x", 2, 3, 4, 5>, param<"w", 6, 5, 1, 1>)>("conv2d_1x1");
  agrees<conv1d<nn::window{.stride = 2, .padding = 1, .groups = 2}>(param<"x", 2, 9, 4>, param<"w", 6, 2, 3>)>(
      "conv1d");
  agrees<conv2d<nn::window{.stride = {2, 1}, .padding = {0, 3}, .dilation = {1, 2}}>(
      param<"x", 2, 5, 6, 3>, param<"w", 4, 3, 2, 3>)>("conv2d_pairs");
  agrees<conv_transpose2d<nn::window{.stride = {1, 3}, .padding = {1, 0}}>(
      param<"x", 2, 4, 3, 4>, param<"w", 4, 2, 3, 2>)>("conv_transpose2d_pairs");
  agrees<conv2d<nn::window{.padding = nn::same, .dilation = {3, 1}}>(param<"x", 2, 5, 6, 3>, param<"w", 4, 3, 2, 4>)>(
      "conv2d_same");
  agrees<conv1d<nn::window{.padding = nn::same, .groups = 2}>(param<"x", 2, 7, 4>, param<"w", 6, 2, 4>)>("conv1d_same");
  constexpr nn::window more{.stride = {3, 1}, .padding = 1, .dilation = {1, 3}, .output_padding = 2};
  agrees<conv_transpose2d<more>(param<"x", 2, 4, 3, 6>, param<"w", 6, 4, 3, 2>)>("conv_transpose2d_more");
  constexpr nn::window longer{.stride = 3, .padding = 1, .groups = 2, .output_padding = 2};
  agrees<conv_transpose1d<longer>(param<"x", 2, 5, 4>, param<"w", 4, 3, 4>)>("conv_transpose1d");
  agrees<conv_transpose2d<nn::window{.stride = 2, .padding = 1}>(param<"x", 2, 4, 3, 6>, param<"w", 6, 4, 3, 3>)>(
      "conv_transpose2d");
  agrees<conv_transpose2d<nn::window{.stride = 3, .dilation = 2, .groups = 3}>(
      param<"x", 1, 3, 2, 6>, param<"w", 6, 2, 2, 2>)>("conv_transpose2d_groups");
}
BOOST_AUTO_TEST_CASE(normalizations) {
  agrees<param<"x", 2, 3, 2, 4> | nn::batch_norm<"bn">>("batch_norm");
  agrees<param<"x", 2, 3, 2, 4> * 0.01_c | nn::batch_norm<"bn", nn::batch_norm_options{.eps = 1e-3}>>("batch_norm_eps");
  agrees<param<"x", 2, 3, 5> | nn::layer_norm<"ln">>("layer_norm");
  agrees<param<"x", 2, 3, 5> * 0.01_c | nn::layer_norm<"ln", 1e-3>>("layer_norm_eps");
  agrees<(param<"x", 3, 17> + 100_c) * 0.01_c | nn::layer_norm<"ln">>("layer_norm_far");
  agrees<param<"x", 2, 3, 2, 6> | nn::group_norm<"gn", 2>>("group_norm");
  agrees<param<"x", 2, 3, 2, 6> * 0.01_c | nn::group_norm<"gn", 3, 1e-3>>("group_norm_eps");
  constexpr auto x = param<"x", 2, 3, 5>;
  agrees<x | nn::rms_norm<"rms">>("rms_norm");
  agrees<x * 0.01_c | nn::rms_norm<"rms", 1e-3>>("rms_norm_eps");
  // Rows of equal numbers, and rows of zeros. Only eps remains in the denominator.
  constexpr auto second = generated<3, 1>([](int i, int) { return i == 1; });
  agrees<(param<"x", 3, 17> * second + 3_c) | nn::layer_norm<"ln">>("layer_norm_constant");
  agrees<x * (1_c - second) | nn::rms_norm<"rms">>("rms_norm_zero");
  constexpr auto w = param<"ln.weight", 5>;
  constexpr auto moments = make<lang::row_moments_op<1e-5>>(x);
  agrees<grad(sum(square(make<lang::normalized_op<0>>(x, std::get<0>(moments), std::get<1>(moments), w, w))), x)>(
      "layer_norm_second");
  agrees<param<"x", 2, 3, 2, 4> | nn::flatten | nn::linear_without_bias<"fc", 3>>("flatten");
}
BOOST_AUTO_TEST_CASE(embeddings_and_positions) {
  const std::array<std::int32_t, 8> at{0, 1, 4, 2, 2, 4, 1, 0};  // squares modulo 7
  constexpr auto tokens = indices<"tokens", 7, 2, 4>;
  constexpr auto table = param<"table", 7, 5>;
  constexpr auto rows = tokens | nn::embedding<"wte", 5, nn::embedding_options{.padding_idx = 1}>;
  agrees<rows>("embedding", bind<"tokens">(at));
  constexpr auto cubes = sum(rows * square(rows) * param<"by", 2, 4, 5>);
  agrees<grad(cubes, param<"wte.weight", 7, 5>)>("embedding_second", bind<"tokens">(at));
  constexpr auto h = tanh((tokens | nn::embedding<"wte", 5>)+(arange<4> | nn::embedding<"wpe", 5>));
  agrees<(h | nn::tied_linear<"/wte.weight", 7>)+param<"bias", 7>>("tied_linear", bind<"tokens">(at));
  constexpr auto rows_in_place = placed<0>(square(table), indices<"row at", 7, 1>, param<"row", 1, 5>);
  constexpr auto columns = placed<-1>(table, indices<"column at", 4, 1>, square(param<"rows", 7, 2>));
  agrees<rows_in_place * columns>("placed", bind<"row at">(std::array{5}), bind<"column at">(std::array{2}));
  constexpr auto row = param<"row", 1, 5>;
  constexpr auto laid = placed<0>(table, indices<"row at", 7, 1>, row);
  agrees<grad(sum(laid * square(laid) * table), row)>("placed_second", bind<"row at">(std::array{5}));
  agrees<nn::rotary(param<"x", 2, 5, 3, 6>)>("rotary");
  agrees<nn::rotary<500>(param<"x", 2, 4, 1, 8>, tokens)>("rotary_at", bind<"tokens">(at));
  constexpr auto x = param<"x", 2, 4, 7>;
  agrees<x*(zeros<4, 7> | nn::sinusoidal_positions)>("sinusoidal");
}
BOOST_AUTO_TEST_CASE(pools) {
  constexpr auto x = param<"x", 2, 5, 6, 3>;
  agrees<max_pool2d<2>(x)>("max_pool2d");
  constexpr nn::window apart{.stride = {1, 2}, .padding = {1, 0}, .dilation = {2, 1}, .ceil_mode = true};
  agrees<max_pool2d<2, apart>(relu(param<"x", 2, 5, 7, 3>))>("max_pool2d_ceil");
  constexpr nn::window over{.stride = {2, 3}, .padding = 1, .ceil_mode = true};
  agrees<avg_pool2d<3, over>(param<"x", 2, 6, 6, 3>)>("avg_pool2d_ceil");
  constexpr nn::window without_padding{.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false};
  agrees<avg_pool2d<{3, 2}, without_padding>(param<"x", 2, 6, 5, 3>)>("avg_pool2d_without_padding");
  agrees<max_pool2d<{1, 3}, nn::window{.stride = {2, 1}, .padding = {0, 1}}>(x)>("max_pool2d_pairs");
  agrees<avg_pool2d<{3, 2}, nn::window{.stride = {1, 2}, .padding = {1, 0}}>(x)>("avg_pool2d_pairs");
  agrees<max_pool2d<3, nn::window{.stride = 2, .padding = 1}>(relu(x))>("max_pool2d_ties");
  agrees<avg_pool2d<3, nn::window{.stride = 2, .padding = 1}>(x)>("avg_pool2d");
  agrees<global_average(x)>("global_average");
  agrees<upsample2d<2>(x)>("upsample2d");
}
BOOST_AUTO_TEST_CASE(attention_with_masks) {
  constexpr auto q = param<"q", 2, 6, 4, 5>;
  constexpr auto k = param<"k", 2, 7, 4, 5>;
  constexpr auto v = param<"v", 2, 7, 4, 5>;
  agrees<nn::attention(q, k, v)>("attention");
  agrees<nn::attention(3_c * q, k, param<"v", 2, 7, 4, 3>, nn::causal)>("attention_causal");
  std::vector<std::int32_t> looks(42);
  for (std::size_t i = 0; i < 42; ++i) looks[i] = i % 5 > 0;
  agrees<nn::attention(q, k, v, indices<"looks", 2, 6, 7>)>("attention_masked", bind<"looks">(looks));
  for (std::size_t i = 14; i < 21; ++i) looks[i] = 0;
  agrees<nn::attention(param<"q", 1, 6, 1, 3>, param<"k", 1, 7, 1, 3>, param<"v", 1, 7, 1, 2>,
                       indices<"looks", 2, 6, 7>)>("attention_row_hidden", bind<"looks">(looks));
  agrees<nn::attention(q, k, v, param<"mask", 4, 1, 7>)>("attention_added");
  // The rows take more than one tile.
  agrees<nn::attention(3_c * param<"q", 1, 130, 1, 2>, param<"k", 1, 130, 1, 2>, param<"v", 1, 130, 1, 1>, nn::causal)>(
      "attention_long");
  agrees<nn::attention(q, param<"k", 2, 6, 2, 5>, param<"v", 2, 6, 2, 5>, nn::causal)>("attention_grouped");
}
BOOST_AUTO_TEST_CASE(transformer_layers) {
  constexpr auto x = param<"x", 2, 5, 8>;
  agrees<x | nn::self_attention<"attn", 2, nn::causal>>("self_attention");
  agrees<nn::cross_attention<"attn", 2>(x, param<"memory", 2, 4, 8>)>("cross_attention");
  agrees<nn::cross_attention<"attn", 2>(x, param<"memory", 2, 4, 6>)>("cross_attention_other");
  agrees<nn::cross_attention<"attn", 2>(x, param<"memory", 2, 4, 8>, reshape<2, 1, 1, 4>(indices<"real", 2, 2, 4>))>(
      "cross_attention_masked", bind<"real">(std::array{1, 1, 0, 1, 0, 1, 1, 0}));
  using options = nn::transformer_options;
  agrees<x | nn::transformer_block<2, options{.dim_feedforward = 12, .norm_first = false}, nn::relu>>(
      "encoder_norm_first_False");
  agrees<x | nn::transformer_block<2, options{.dim_feedforward = 12, .causal = true}>>("encoder_norm_first_True");
  agrees<param<"x", 2, 3, 4> | nn::swiglu<"ff", 6>>("swiglu");
}
BOOST_AUTO_TEST_CASE(split_pad_stack_and_flip) {
  agrees<param<"x", 4, 6> | layer([](auto x) {
           const auto [a, b, c] = split<-1, 3>(x);
           return stack<1>(pad<0, 1, 2>(a), flip<0, 1>(pad<-2, 3, 0>(b)), pad<0, 0, 3>(c * c));
         })>("other_places");
}

BOOST_AUTO_TEST_SUITE_END()
