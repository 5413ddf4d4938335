// The laws of programs that store computed values as bf16.
#include "../models/images.hpp"
#include "../models/indices.hpp"
#include "../models/loops.hpp"
#include "../models/nesting.hpp"
#include "../models/parameters.hpp"
#include "../models/segments.hpp"
#include "../models/sharing.hpp"
#include "../models/tensors.hpp"
#include "laws.hpp"

namespace {
template <auto Model>
void laws_rounded() {
  laws_of_any<Model, mixed<bf16>>();
}
}  // namespace

// Floats that products and norms read. These floats are sums, results of scans, and parameters. The norms of an input
// have a gradient in bf16.
constexpr auto weight = param<"w", 16, 16>;
constexpr auto of_sum = sum(matmul(sum<1>(input<"x", 8, 4, 16>), weight) | ckpt<"act">(nn::linear<"fc", 8> | nn::gelu));
constexpr auto of_loop = sum(matmul(
    scan<4, "steps">([](auto h) { return tanh(matmul(h, param<"u", 16, 16>)); }, carried(input<"x", 8, 16>)), weight));
constexpr auto hidden = matmul(input<"x", 8, 16>, weight);
constexpr auto of_input =
    sum(hidden * (input<"z", 8, 16> | nn::layer_norm<"n">)*(input<"z", 8, 16> | nn::rms_norm<"r">));
// Numbers far from zero. They would all become the same number if they were rounded to bf16.
constexpr auto far = input<"z", 8, 16> + constant<1000.0>;
constexpr auto of_far = sum(hidden * (far | nn::layer_norm<"n">)*(far | nn::batch_norm<"b">));
// Extrema of floats that were never rounded. The largest number must be compared as a float. If it were rounded first,
// it would differ from all of the numbers.
constexpr auto shifted = input<"z", 8, 16> + param<"b", 16>;
constexpr auto of_extrema =
    sum(hidden * (max<-1>(shifted, keepdim) - min<0>(shifted))) + max(square(shifted)) + mean(square(max<-1>(hidden)));
// Values that the user rounds in the body of a scan. There are three scans. (1) The rounded value is carried, and its
// last value is unused. (2) The rounded value is collected, and is unused. (3) The rounded value is read in each
// iteration.
constexpr auto each_row = each(input<"xs", 4, 8, 16>);
constexpr auto follow = [](auto h, auto x) {
  return tanh(matmul(as_real(h), param<"u", 16, 16>) + x * param<"v", 16>);
};
constexpr auto carried_rounded = [](auto h, auto x) {
  const auto next = follow(h, x);
  return std::tuple{as<bf16>(next), next};
};
constexpr auto collected_rounded = [](auto h, auto x) {
  const auto next = follow(h, x);
  return std::tuple{next, as<bf16>(next)};
};
constexpr auto read_rounded = [](auto h, auto x, auto w) {
  const auto next = tanh(matmul(h, as_real(w)) + x);
  return std::tuple{next, next};
};
constexpr auto nothing = zeros<8, 16>;
constexpr auto of_rounded_loops =
    mean(square(std::get<1>(scan<4, "carry">(carried_rounded, carried(as<bf16>(nothing)), each_row)))) +
    mean(square(std::get<0>(scan<4, "collect">(collected_rounded, carried(nothing), each_row)))) +
    mean(square(std::get<1>(scan<4, "read">(read_rounded, carried(nothing), each_row, as<bf16>(weight)))));
// Convolutions with one channel, with groups of an odd number of channels, with strides, depthwise, and transposed.
constexpr auto of_images = models::classify(reshape<8, 16>(
    models::images | nn::conv2d<"in", 6, 3, models::around> |
    ckpt<"grouped">(nn::conv2d<"half", 12, 3, nn::window{.stride = 2, .padding = 1, .groups = 2}> | nn::gelu |
                    nn::conv2d<"each", 12, 3, nn::window{.padding = 1, .groups = 12}> | nn::tanh) |
    nn::conv_transpose2d<"back", 4, 2, nn::window{.stride = 2}> | nn::conv2d<"out", 4, 1, nn::window{.stride = 2}>));

// Values that kernels compute in bf16, and in floats for parameters. The operations are batched products, by a
// parameter or by a computed value; a gather of rows of a computed table; and one_hot.
constexpr auto words = indices<"words", 12, 24>;
constexpr auto rows = reshape<2, 12, 16>(words | nn::embedding<"wte", 16>);
constexpr auto attended = ckpt<"heads">([](auto h) {
  const auto each = matmul(h, param<"each", 2, 16, 16>);
  return matmul(softmax(matmul(each, transpose(h))), h) + matmul(softmax<0>(each), param<"other", 2, 16, 16>);
});
constexpr auto of_heads = cross_entropy(reshape<24, 16>(rows | attended) | nn::tied_linear<"/wte.weight", 12>, words);
constexpr auto of_table = mean(square(log_softmax(gather<0>(tanh(matmul(input<"x", 12, 16>, weight)), words))) *
                               matmul(one_hot(words), param<"v", 12, 16>));

BOOST_AUTO_TEST_SUITE(laws_of_mixed_programs)

/// Checks that the loss and all gradients are near the results of the same program in floats.
template <auto Model>
void near_floats() {
  program<Model, mixed<bf16>> rounded;
  program<Model> exact;
  rounded.init(seed{1});
  exact.init(seed{1});
  const batch<test::step_of<Model>> b(0);
  const auto one = b.bound_to([&](const auto&... in) { return rounded.value_and_grad(in...); });
  const auto two = b.bound_to([&](const auto&... in) { return exact.value_and_grad(in...); });
  BOOST_TEST(std::abs(one - two) < 0.02F * std::abs(two) + 0.02F);
  double off = 0, all = 0;
  const auto g = gradients_of(rounded), wanted = gradients_of(exact);
  for (std::size_t i = 0; i < g.size(); ++i) {
    off += double{g[i] - wanted[i]} * double{g[i] - wanted[i]};
    all += double{wanted[i]} * double{wanted[i]};
  }
  BOOST_TEST(off < 0.02 * 0.02 * all);
  BOOST_TEST((kernels_get_their_types<test::step_of<Model, mixed<bf16>>>()));
}
BOOST_AUTO_TEST_CASE(results_are_near_those_in_floats) {
  near_floats<of_sum>();
  near_floats<of_loop>();
  near_floats<of_input>();
  near_floats<of_far>();
  near_floats<of_extrema>();
  near_floats<of_rounded_loops>();
  near_floats<of_images>();
  near_floats<of_heads>();
  near_floats<of_table>();
}

BOOST_AUTO_TEST_CASE(repeated_residual) { laws_rounded<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(kernels_that_compute_in_bf16) {
  laws_rounded<of_heads>();
  laws_rounded<of_table>();
}
BOOST_AUTO_TEST_CASE(saved_inside) { laws_rounded<models::saved_inside>(); }
BOOST_AUTO_TEST_CASE(tied) { laws_rounded<models::tied>(); }
BOOST_AUTO_TEST_CASE(batch_normalized) { laws_rounded<models::batch_normalized>(); }
BOOST_AUTO_TEST_CASE(nested) { laws_rounded<models::nested>(); }
BOOST_AUTO_TEST_CASE(penalized) { laws_rounded<models::penalized>(); }
BOOST_AUTO_TEST_CASE(tied_head) { laws_rounded<models::tied_head>(); }
BOOST_AUTO_TEST_CASE(transformer) { laws_rounded<models::transformer>(); }
BOOST_AUTO_TEST_CASE(lstm) { laws_rounded<models::lstm>(); }
BOOST_AUTO_TEST_CASE(images) { laws_rounded<of_images>(); }
BOOST_AUTO_TEST_CASE(dense_net) { laws_rounded<models::dense_net>(); }
BOOST_AUTO_TEST_CASE(recurrent) { laws_rounded<models::recurrent<segment_every<8>>>(); }
BOOST_AUTO_TEST_CASE(looped) { laws_rounded<models::looped<revolve<2>>>(); }
BOOST_AUTO_TEST_CASE(looped_in_segments) { laws_of_loops<models::looped_in_segments, mixed<bf16>>(); }
BOOST_AUTO_TEST_CASE(looped_with_state) { laws_of_loops<models::looped_with_state<revolve<3>>, mixed<bf16>>(); }
BOOST_AUTO_TEST_CASE(looped_in_roles) { laws_of_loops<models::looped_in_roles<revolve<2>>, mixed<bf16>>(); }
BOOST_AUTO_TEST_CASE(u_net) { laws_rounded<models::u_net>(); }
// The parameters are bf16 and are rounded stochastically by the training step. A program with segments and the same
// program with `plain` have the same bits, and the training step touches exactly the planned bytes.
template <auto Model>
void laws_of_rounded_weights() {
  laws_of_any<Model, mixed<bf16, stochastic_rounding>, update<adamw_options{.lr = 0.01}>>();
}
BOOST_AUTO_TEST_CASE(stochastically_rounded_weights) {
  laws_of_rounded_weights<models::repeated_residual>();
  laws_of_rounded_weights<models::tied_head>();
  laws_of_rounded_weights<of_images>();
  laws_of_any<models::batch_normalized, mixed<bf16, stochastic_rounding>, update<sgd_options{.lr = 0.01}>, clip<0.1>>();
}
BOOST_AUTO_TEST_CASE(stochastically_rounded_weights_of_scans) {
  laws_of_loops<models::recurrent<segment_every<8>>, mixed<bf16, stochastic_rounding>, update<adamw_options{}>>();
}
BOOST_AUTO_TEST_CASE(the_optimizer_in_the_step_and_next_to_it) {
  same_in_step_and_beside<models::repeated_residual, mixed<bf16>>();
}

BOOST_AUTO_TEST_SUITE_END()
