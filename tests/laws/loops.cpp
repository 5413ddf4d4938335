#include "../models/loops.hpp"

#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(loops)

BOOST_AUTO_TEST_CASE(all_kept) { laws<models::looped<store_all>>(); }
BOOST_AUTO_TEST_CASE(few_snapshots) { laws<models::looped<revolve<2>>>(); }
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(on_two_threads) { laws<models::looped<revolve<2>>, threads<2>>(); }
#endif
BOOST_AUTO_TEST_CASE(segments) { laws<models::looped<segment_every<2>>>(); }
BOOST_AUTO_TEST_CASE(two_levels) { laws<models::looped<two_level<3, 2>>>(); }
BOOST_AUTO_TEST_CASE(within_bytes) { laws<models::looped<fit<1_KiB>>>(); }
BOOST_AUTO_TEST_CASE(in_segments) { laws_of_loops<models::looped_in_segments>(); }
BOOST_AUTO_TEST_CASE(with_state) { laws_of_loops<models::looped_with_state>(); }
BOOST_AUTO_TEST_CASE(that_update) { laws<models::looped<revolve<2>>, update<adamw_options{}>>(); }
BOOST_AUTO_TEST_CASE(among_placed_segments) { laws_of_loops<models::looped_in_segments, fit<24_KiB>>(); }
BOOST_AUTO_TEST_CASE(every_policy_has_the_same_bits) {
  program<models::looped<store_all>> all;
  program<models::looped<revolve<2>>> few;
  program<models::looped<two_level<3, 2>>> levels;
  all.init(seed{1});
  few.init(seed{1});
  levels.init(seed{1});
  const batch<test::step_of<models::looped<store_all>>> b(0);
  b.bound_to([&](const auto&... in) {
    const auto one = all.value_and_grad(in...);
    BOOST_TEST(same_results(one, few.value_and_grad(in...)));
    BOOST_TEST(same_results(one, levels.value_and_grad(in...)));
    return one;
  });
  BOOST_TEST(same_bits(gradients_of(all), gradients_of(few)));
  BOOST_TEST(same_bits(gradients_of(all), gradients_of(levels)));
}

BOOST_AUTO_TEST_SUITE_END()
