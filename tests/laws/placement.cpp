// Segments that the compiler places obey the same laws as segments that the user marks.
#include "../models/random.hpp"
#include "../models/segments.hpp"
#include "laws.hpp"

namespace {

template <int Count>
constexpr auto blocks =
    models::classify(models::x | repeat<Count, "block">([](auto) { return nn::residual(models::mlp); }));
constexpr auto widths = cross_entropy(input<"x", 32, 64> | nn::linear<"a", 64> | nn::gelu | nn::linear<"b", 128> |
                                          nn::gelu | nn::linear<"c", 32> | nn::softmax | nn::linear<"head", 5>,
                                      labels<"y", 5, 32>);
// A model with states, and with random numbers that are drawn again in the recomputation.
constexpr auto normed = models::classify(models::x | repeat<4, "block">([](auto) {
                                           return nn::residual(nn::batch_norm<"bn"> | nn::linear<"fc1", 20> | nn::gelu |
                                                               nn::dropout<"drop", 0.2> | nn::linear<"fc2", 12>);
                                         }));
constexpr auto joined = models::classify(models::x | repeat<4, "block">([](auto) {
                                           return layer([](auto h) { return concatenate<-1>(h, h | models::mlp); });
                                         }));
constexpr auto images =
    cross_entropy(input<"x", 2, 6, 6, 3> | repeat<4, "block">([](auto) {
                    return layer([](auto h) {
                      return relu(h | nn::conv2d<"conv", 5, 3, nn::window{.padding = 1}> | nn::batch_norm<"bn">);
                    });
                  }) | nn::global_average |
                      nn::linear<"head", 5>,
                  labels<"y", 5, 2>);

/// Checks the laws of a program under a budget. The budget lies between the least possible bytes and the bytes without
/// placed segments, and `Percent` says where. The budget is so small that some segments are placed.
template <auto Model, int Percent, class... Options>
void laws_within() {
  using unplaced = test::step_of<Model, Options...>;
  constexpr std::int64_t least = test::peak<test::step_of<Model, fit<1>, Options...>>;
  using within = fit<least + (test::peak<unplaced> - least) * Percent / 100>;
  using placed = test::step_of<Model, within, Options...>;
  static_assert(placed::segments.count > unplaced::segments.count);
  laws_of_any<Model, within, Options...>();
  BOOST_TEST((touched_bytes<Model, within, Options...>()) == test::peak<placed>);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_placement)

BOOST_AUTO_TEST_CASE(placed_among_equal_blocks) {
  laws_within<blocks<6>, 70>();
  laws_within<blocks<6>, 0, update<adamw_options{}>>();
}
BOOST_AUTO_TEST_CASE(placed_among_different_layers) { laws_within<widths, 0>(); }
BOOST_AUTO_TEST_CASE(placed_around_states_and_random_numbers) { laws_within<normed, 30>(); }
BOOST_AUTO_TEST_CASE(placed_among_concatenating_blocks) { laws_within<joined, 0>(); }
BOOST_AUTO_TEST_CASE(placed_among_convolutions) { laws_within<images, 0, wrt<"x">>(); }
BOOST_AUTO_TEST_CASE(placed_next_to_marked_segments) {
  laws_within<models::repeated_residual, 50>();
  laws_within<models::saved_in_blocks, 0>();
  laws_within<models::dropped_in_blocks, 0>();
}
BOOST_AUTO_TEST_CASE(placed_in_mixed_precision) {
  laws_within<blocks<6>, 70, mixed<bf16>>();
  laws_within<normed, 30, mixed<bf16>>();
  laws_within<images, 0, mixed<bf16>, update<adamw_options{}>>();
}
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(placed_with_two_threads) { laws_within<blocks<6>, 50, threads<2>>(); }
#endif

BOOST_AUTO_TEST_SUITE_END()
