#include "cairn/base/philox.hpp"

#include "cairn/base/hash.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>

using cairn::detail::hash64_of, cairn::philox, cairn::random_sequence, cairn::random_stream, cairn::seed,
    cairn::uniform;

namespace {

using words = std::array<std::uint32_t, 4>;

// The known answers that Random123 publishes for philox4x32-10.
constexpr std::uint32_t ones = 0xffffffff;
static_assert(philox({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({ones, ones, ones, ones}, {ones, ones}) == words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

static_assert(seed{0x0123456789abcdef}.key() == std::array<std::uint32_t, 2>{0x89abcdef, 0x01234567});

// The known answers that the authors of FNV-1a publish.
static_assert(hash64_of("") == 0xcbf29ce484222325 && hash64_of("a") == 0xaf63dc4c8601ec8c);
static_assert(hash64_of("foobar") == 0x85944171f73967e8);

// The counters of a stream are the element, the training step and the operation.
static_assert(random_stream{seed{0x0000000700000005}, 0x0000000300000002, 9}(4) == philox({4, 9, 2, 3}, {5, 7}));

static_assert(uniform(0) == 0);
static_assert(uniform(1U << 31) == 0.5F);
static_assert(uniform(ones) == 1 - 0x1p-24F);

// A sequence consists of the words of consecutive counters under its number.
constexpr bool sequence_follows_counters() {
  random_sequence random(seed{0x0000000700000005}, 0x0000000300000002);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word : philox({block, 0, 2, 3}, {5, 7})) {
      if (random() != word) return false;
    }
  }
  return true;
}
static_assert(sequence_follows_counters());

}  // namespace

BOOST_AUTO_TEST_SUITE(philox_suite)

BOOST_AUTO_TEST_CASE(numbers_below_n_are_equally_likely) {
  constexpr std::uint32_t n = 6;
  constexpr int draws = 60000;
  std::array<int, n> count{};
  random_sequence random(seed{1}, 0);
  for (int i = 0; i < draws; ++i) ++count.at(random.below(n));
  double chi_squared = 0;
  for (const int c : count) chi_squared += (c - draws / 6.0) * (c - draws / 6.0) / (draws / 6.0);
  BOOST_TEST(chi_squared < 20.5);  // 5 degrees of freedom: one seed in a thousand exceeds this
}

// Without rejection, numbers that are divisible by 3 would be half of all draws.
BOOST_AUTO_TEST_CASE(large_ranges_are_unbiased) {
  constexpr std::uint32_t n = 3U << 30;
  int divisible = 0;
  random_sequence random(seed{2}, 0);
  for (int i = 0; i < 30000; ++i) divisible += random.below(n) % 3 == 0 ? 1 : 0;
  BOOST_TEST(divisible > 9600);
  BOOST_TEST(divisible < 10400);
}

BOOST_AUTO_TEST_CASE(below_one_is_always_zero) {
  random_sequence random(seed{3}, 0);
  for (int i = 0; i < 10; ++i) BOOST_TEST(random.below(1) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
