// The laws in programs whose steps store what they compute as bf16.
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
template <auto Model, class... Options>
void laws_rounded() {
  laws_of_any<Model, mixed<bf16>, Options...>();
}
}  // namespace

// Floats that products and norms read: sums, what loops make, parameters; and a norm of an input, whose gradient is bf16.
constexpr auto weight = param<"w", 16, 16>;
constexpr auto of_sum = sum(matmul(sum<1>(input<"x", 8, 4, 16>), weight) | ckpt<"act">(nn::linear<"fc", 8> | nn::gelu));
constexpr auto of_loop = sum(matmul(
    scan<4, "steps">([](auto h) { return tanh(matmul(h, param<"u", 16, 16>)); }, carried(input<"x", 8, 16>)), weight));
constexpr auto hidden = matmul(input<"x", 8, 16>, weight);
constexpr auto of_input = sum(hidden * (input<"z", 8, 16> | nn::layer_norm<"n">) * (input<"z", 8, 16> | nn::rms_norm<"r">));

BOOST_AUTO_TEST_SUITE(laws_of_mixed_programs)

/// The loss and all gradients are near those of floats.
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
BOOST_AUTO_TEST_CASE(floats_that_kernels_take) {
  near_floats<of_sum>();
  near_floats<of_loop>();
  near_floats<of_input>();
}

BOOST_AUTO_TEST_CASE(repeated_residual) { laws_rounded<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(saved_inside) { laws_rounded<models::saved_inside>(); }
BOOST_AUTO_TEST_CASE(tied) { laws_rounded<models::tied>(); }
BOOST_AUTO_TEST_CASE(batch_normalized) { laws_rounded<models::batch_normalized>(); }
BOOST_AUTO_TEST_CASE(nested) { laws_rounded<models::nested>(); }
BOOST_AUTO_TEST_CASE(penalized) { laws_rounded<models::penalized>(); }
BOOST_AUTO_TEST_CASE(tied_head) { laws_rounded<models::tied_head>(); }
BOOST_AUTO_TEST_CASE(transformer) { laws_rounded<models::transformer>(); }
BOOST_AUTO_TEST_CASE(lstm) { laws_rounded<models::lstm>(); }
BOOST_AUTO_TEST_CASE(recurrent) { laws_of_loops<models::recurrent<segment_every<8>>, mixed<bf16>>(); }
BOOST_AUTO_TEST_CASE(u_net) { laws_rounded<models::u_net>(); }
BOOST_AUTO_TEST_CASE(that_update) {
  same_in_step_and_beside<models::repeated_residual, mixed<bf16>>();
}

BOOST_AUTO_TEST_SUITE_END()
