#include "../models/tensors.hpp"

#include "laws.hpp"

namespace {

// The cells are the same in two forms. In the first form, the bodies have the same type, so that the three cells become
// one node of the expression. In the second form, each body has a type of its own, so that the cells become three calls
// in sequence.
constexpr auto h = models::x | nn::linear<"h", 9>;
constexpr auto c = models::x | nn::linear<"c", 9>;
template <int I>
constexpr auto cell_of = [](auto a, auto b) { return models::peephole_cell(a, b); };
constexpr auto at_once = std::apply(models::peephole_cell, repeat<3, "layer">([](auto) { return cell_of<0>; }, h, c));
constexpr auto in_turn = std::apply(models::peephole_cell, repeat<3, "layer">([](auto i) { return cell_of<i>; }, h, c));

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_tensors)

BOOST_AUTO_TEST_CASE(attention) { laws<models::attention>(); }
BOOST_AUTO_TEST_CASE(transformer) { laws<models::transformer>(); }
BOOST_AUTO_TEST_CASE(attention_penalized) { laws<models::attention_penalized>(); }
BOOST_AUTO_TEST_CASE(deep_products) { laws<models::deep_products>(); }
BOOST_AUTO_TEST_CASE(centered) { laws<models::centered>(); }
BOOST_AUTO_TEST_CASE(linear_attention) { laws<models::linear_attention>(); }
BOOST_AUTO_TEST_CASE(linear_systems) { laws<models::linear_systems>(); }
BOOST_AUTO_TEST_CASE(over_axes) { laws<models::over_axes>(); }
BOOST_AUTO_TEST_CASE(stretched) { laws<models::stretched>(); }
BOOST_AUTO_TEST_CASE(compared) { laws<models::compared>(); }
BOOST_AUTO_TEST_CASE(ties) { laws<models::ties>(); }
BOOST_AUTO_TEST_CASE(leading_axes) { laws<models::leading_axes>(); }
BOOST_AUTO_TEST_CASE(row_between) { laws<models::row_between>(); }
BOOST_AUTO_TEST_CASE(densely_connected) { laws<models::densely_connected>(); }
BOOST_AUTO_TEST_CASE(lstm) { laws<models::lstm>(); }
BOOST_AUTO_TEST_CASE(stacked_cells) { laws<models::stacked_cells>(); }
BOOST_AUTO_TEST_CASE(cells_at_once_and_in_turn) {
  constexpr auto one = models::classify(std::get<0>(at_once));
  constexpr auto other = models::classify(std::get<0>(in_turn));
  program<one> first;
  program<other> second;
  first.init(seed{1});
  second.init(seed{1});
  const batch<test::step_of<one>> b(0);
  const auto loss = b.bound_to([&](const auto&... in) { return first.value_and_grad(in...); });
  BOOST_TEST(same_results(loss, b.bound_to([&](const auto&... in) { return second.value_and_grad(in...); })));
  BOOST_TEST(same_bits(gradients_of(first), gradients_of(second)));
}
BOOST_AUTO_TEST_CASE(stencils) { laws<models::stencils>(); }
BOOST_AUTO_TEST_CASE(masked) { laws<models::masked>(); }
BOOST_AUTO_TEST_CASE(with_outputs) { laws<models::with_outputs>(); }

BOOST_AUTO_TEST_SUITE_END()
