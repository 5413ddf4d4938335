// The laws in programs whose steps store what they compute as bf16.
#include "../models/images.hpp"
#include "../models/indices.hpp"
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

BOOST_AUTO_TEST_SUITE(laws_of_mixed_programs)

BOOST_AUTO_TEST_CASE(repeated_residual) { laws_rounded<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(saved_inside) { laws_rounded<models::saved_inside>(); }
BOOST_AUTO_TEST_CASE(tied) { laws_rounded<models::tied>(); }
BOOST_AUTO_TEST_CASE(batch_normalized) { laws_rounded<models::batch_normalized>(); }
BOOST_AUTO_TEST_CASE(nested) { laws_rounded<models::nested>(); }
BOOST_AUTO_TEST_CASE(penalized) { laws_rounded<models::penalized>(); }
BOOST_AUTO_TEST_CASE(tied_head) { laws_rounded<models::tied_head>(); }
BOOST_AUTO_TEST_CASE(transformer) { laws_rounded<models::transformer>(); }
BOOST_AUTO_TEST_CASE(lstm) { laws_rounded<models::lstm>(); }
BOOST_AUTO_TEST_CASE(u_net) { laws_rounded<models::u_net>(); }
BOOST_AUTO_TEST_CASE(that_update) {
  same_in_step_and_beside<models::repeated_residual, mixed<bf16>>();
}

BOOST_AUTO_TEST_SUITE_END()
