// The laws for operations that a user adds. Added operations are planned, stored by tags and recomputed like
// the operations of the library.
#include "../models/own.hpp"

#include "laws.hpp"

namespace {

/// Returns how often operations of this name are recomputed for the segment with this path.
template <class Step>
int again(std::string_view operation, std::string_view path) {
  const auto& s = Step::schedule;
  int n = 0;
  for (int v = s.turn; v < s.node_count; ++v) {
    const auto& region = Step::graph.regions[Step::segments.all[s.segment[v]].region];
    n += s.recomputes[v] != graphs::none && s.nodes[v].result_index == 0 && s.op(v).name == operation &&
         Step::graph.name(region) == path;
  }
  return n;
}
/// Counts the values with a tag that are stored for the backward pass. Views are not counted.
template <class Step>
int kept_by_tag() {
  const auto& s = Step::schedule;
  int n = 0;
  for (int i = 0; i < Step::graph.tag_count; ++i) n += s.tagged[i] != graphs::none && s.stored[s.root(s.tagged[i])];
  return n;
}

/// `kept` is the number of results that the tag keeps in the segment "keeping", which saves the tag by its policy.
template <auto F, auto... Labels>
void laws_of_own(std::string_view operation, int kept = 1) {
  constexpr auto& model = models::thrice<F, Labels...>;
  using step = test::step_of<model>;
  BOOST_TEST(again<step>(operation, "bare") == 1);
  BOOST_TEST(again<step>(operation, "keeping") == 0);
  BOOST_TEST(again<step>(operation, "outer") + again<step>(operation, "c.inner") == 2);
  BOOST_TEST(kept_by_tag<step>() == kept);
  laws<model>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_own_operations)

BOOST_AUTO_TEST_CASE(elementwise) { laws_of_own<models::log1pexp>("log1pexp"); }
BOOST_AUTO_TEST_CASE(elementwise_with_two_results) { laws_of_own<models::sine_cosine>("sine_cosine", 2); }
BOOST_AUTO_TEST_CASE(kernel) { laws_of_own<models::running_sum>("running_sum"); }
BOOST_AUTO_TEST_CASE(two_results_one_of_indices) { laws_of_own<models::largest>("largest", 2); }
BOOST_AUTO_TEST_CASE(tiles) { laws_of_own<models::normalized>("normalized", 2); }
BOOST_AUTO_TEST_CASE(seven_arguments) { laws_of_own<models::scored, models::y>("scored"); }
BOOST_AUTO_TEST_CASE(state) { laws_of_own<models::centered>("centered"); }
BOOST_AUTO_TEST_CASE(maps) { laws_of_own<models::mapped>("upsampled"); }
BOOST_AUTO_TEST_CASE(in_halves) { laws_of_own<models::in_halves>("tanh"); }
BOOST_AUTO_TEST_CASE(in_double) { laws_of_own<models::in_double>("exp"); }

BOOST_AUTO_TEST_SUITE_END()
