// A batch of two parts and two training steps that sum their gradients compute the same bits, for all models of the
// laws without loops. The models must be compiled once more for this, so that only tests/tools/matrix.py runs this file.
// tests/run/microbatch*.cpp and tests/run/shards.cpp test what only divided batches have.
#include "../models/arguments.hpp"
#include "../models/images.hpp"
#include "../models/indices.hpp"
#include "../models/nesting.hpp"
#include "../models/parameters.hpp"
#include "../models/random.hpp"
#include "../models/segments.hpp"
#include "../models/sharing.hpp"
#include "../models/tensors.hpp"
#include "laws.hpp"

namespace {
template <auto... Models>
void in_parts() {
  (same_in_parts<Models>(), ...);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_parts)

BOOST_AUTO_TEST_CASE(arguments) {
  in_parts<models::two_arguments, models::two_results, models::result_unused, models::passed_through,
           models::results_of_the_inner, models::recurrent, models::of_lengths, models::part_of_an_input,
           models::loss_inside, models::loss_twice>();
}
BOOST_AUTO_TEST_CASE(images) {
  in_parts<models::residual_net, models::dense_net, models::u_net, models::depthwise, models::windows>();
}
BOOST_AUTO_TEST_CASE(indices) {
  in_parts<models::embedded, models::routed, models::columns, models::peaks, models::sharpened, models::tied_head,
           models::with_indices>();
}
BOOST_AUTO_TEST_CASE(nesting) {
  in_parts<models::nested, models::nested_pair, models::three_deep, models::whole_in_nested, models::four_deep,
           models::repeat_in_repeat, models::halves, models::bottleneck, models::penalized, models::descended>();
}
BOOST_AUTO_TEST_CASE(parameters) {
  in_parts<models::of_parameters, models::parameters_in_nested, models::scalar_between, models::with_frozen,
           models::detached_argument, models::frozen_weights, models::detached_between, models::other_weights,
           models::batch_normalized, models::batch_normalized_in_nested>();
}
BOOST_AUTO_TEST_CASE(random) {
  in_parts<models::dropped, models::dropped_in_blocks, models::dropped_in_nested, models::dropped_at_boundaries,
           models::dropped_weights, models::noisy_in_blocks>();
}
BOOST_AUTO_TEST_CASE(segments) {
  in_parts<models::one, models::trailing_activation, models::trailing_product, models::elementwise_only,
           models::normalized, models::of_the_whole, models::chain_of_two, models::repeated_residual, models::widths,
           models::plain_between, models::sequential, models::side_by_side, models::one_value_twice,
           models::nothing_recomputed, models::half_boundaries, models::half_and_policies, models::saved_in_blocks,
           models::saved_inside>();
}
BOOST_AUTO_TEST_CASE(sharing) {
  in_parts<models::skip, models::two_readers, models::dense, models::skip_over_two, models::crossing_skips,
           models::read_by_two_segments, models::residual_of_residual, models::tied, models::inside_and_outside,
           models::inside_outside_between, models::shared_by_blocks, models::transposed_weight,
           models::weight_normed>();
}
BOOST_AUTO_TEST_CASE(tensors) {
  in_parts<models::attention, models::deep_products, models::centered, models::linear_attention, models::over_axes,
           models::stretched, models::compared, models::ties, models::leading_axes, models::row_between,
           models::densely_connected, models::lstm, models::stacked_cells, models::stencils, models::masked,
           models::with_outputs>();
}

BOOST_AUTO_TEST_SUITE_END()
