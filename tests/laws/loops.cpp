#include "../models/loops.hpp"

#include "laws.hpp"

/// The other recurrent layers: an rnn on a gru.
template <class Policy>
constexpr auto other_recurrent = [] {
  constexpr nn::recurrent_options one{};
  const auto sequence = reshape<8, 9, 3>(models::x | nn::linear<"in", 27>);
  return models::classify(mean<1>(sequence | nn::gru<"gru", 6, one, Policy> | nn::rnn<"rnn", 5, one, Policy>));
}();

/// Checks that the loss and the gradients of a model have the same bits under all policies.
template <auto First, auto... Others>
void have_same_bits() {
  program<First> first;
  first.init(seed{1});
  const batch<test::step_of<First>> b(0);
  const auto expected = b.bound_to([&](const auto&... in) { return first.value_and_grad(in...); });
  const auto compare = [&](auto other) {
    other.init(seed{1});
    BOOST_TEST(same_results(expected, b.bound_to([&](const auto&... in) { return other.value_and_grad(in...); })));
    BOOST_TEST(same_bits(gradients_of(first), gradients_of(other)));
  };
  (compare(program<Others>{}), ...);
}

BOOST_AUTO_TEST_SUITE(loops)

BOOST_AUTO_TEST_CASE(scan_that_stores_all) { laws<models::looped<store_all>>(); }
BOOST_AUTO_TEST_CASE(scan_with_two_snapshots) { laws<models::looped<revolve<2>>>(); }
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(scan_on_two_threads) { laws<models::looped<revolve<2>>, threads<2>>(); }
#endif
BOOST_AUTO_TEST_CASE(scan_in_segments_of_iterations) { laws<models::looped<segment_every<2>>>(); }
BOOST_AUTO_TEST_CASE(scan_with_snapshots_on_two_levels) { laws<models::looped<two_level<3, 2>>>(); }
BOOST_AUTO_TEST_CASE(scan_within_a_budget) { laws<models::looped<fit<1_KiB>>>(); }
BOOST_AUTO_TEST_CASE(scans_in_segments) { laws_of_loops<models::looped_in_segments>(); }
BOOST_AUTO_TEST_CASE(scan_with_a_state) { laws_of_loops<models::looped_with_state<revolve<3>>>(); }
BOOST_AUTO_TEST_CASE(scan_with_frozen_parameters) {
  laws_of_loops<models::looped_with_state<store_all>, freeze<"step.bn">>();
}
BOOST_AUTO_TEST_CASE(scan_with_the_optimizer_in_the_step) {
  laws<models::looped<revolve<2>>, update<adamw_options{}>>();
}
BOOST_AUTO_TEST_CASE(scans_next_to_placed_segments) { laws_of_loops<models::looped_in_segments, fit<24_KiB>>(); }
BOOST_AUTO_TEST_CASE(two_layers_of_an_lstm) { laws<models::recurrent<segment_every<8>>>(); }
BOOST_AUTO_TEST_CASE(in_both_directions) { laws<models::in_both_directions>(); }
BOOST_AUTO_TEST_CASE(scan_whose_values_have_several_roles) { laws_of_loops<models::looped_in_roles<revolve<2>>>(); }
BOOST_AUTO_TEST_CASE(several_roles_with_the_optimizer_in_the_step) {
  laws_of_loops<models::looped_in_roles<store_all>, update<adamw_options{}>>();
}
BOOST_AUTO_TEST_CASE(scans_in_parts_of_a_batch) {
  same_in_parts<models::looped<revolve<2>>>();
  same_in_parts<models::looped_in_segments>();
  same_in_parts<models::looped_with_state<revolve<3>>>();
  same_in_parts<models::looped_in_roles<segment_every<5>>>();
  same_in_parts<models::recurrent<store_all>>();
}
BOOST_AUTO_TEST_CASE(gradients_of_scans_follow_differences) {
  follows_differences<models::looped<revolve<2>>>();
  follows_differences<models::looped_in_roles<segment_every<5>>>();
}
BOOST_AUTO_TEST_CASE(every_policy_has_the_same_bits) {
  have_same_bits<models::looped<store_all>, models::looped<revolve<2>>, models::looped<two_level<3, 2>>,
                 models::looped<segment_every<1>>, models::looped<segment_every<3>>,
                 models::looped<segment_every<7>>>();
  have_same_bits<models::recurrent<store_all>, models::recurrent<segment_every<8>>, models::recurrent<revolve<4>>>();
  have_same_bits<models::looped_in_roles<store_all>, models::looped_in_roles<revolve<1>>,
                 models::looped_in_roles<two_level<4, 2>>, models::looped_in_roles<segment_every<5>>,
                 models::looped_in_roles<fit<1>>>();
  have_same_bits<other_recurrent<store_all>, other_recurrent<revolve<2>>>();
}

BOOST_AUTO_TEST_SUITE_END()
