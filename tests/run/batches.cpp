#include "cairn/data/batches.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <set>
#include <type_traits>
#include <vector>

using cairn::seed;
namespace data = cairn::data;

namespace {

static_assert(std::input_iterator<data::batch_range<4>::iterator>);
static_assert(std::ranges::sized_range<data::batch_range<4>>);

template <class Set>
concept can_be_batched = requires(Set&& set) {
  data::batches<4>(static_cast<Set&&>(set));
};
static_assert(can_be_batched<data::dataset&> && can_be_batched<const data::dataset&>);
static_assert(!can_be_batched<data::dataset>);

/// Returns a set in which example i has label i and the pixels 10 i, 10 i + 1 and 10 i + 2.
data::dataset numbered(int count) {
  data::dataset set;
  set.features = 3;
  set.classes = count;
  for (int i = 0; i < count; ++i) {
    set.labels.push_back(i);
    for (int j = 0; j < 3; ++j) set.images.push_back(static_cast<float>(10 * i + j));
  }
  return set;
}

/// Returns the labels in the order of the batches, after checking that each label comes with its own pixels.
std::vector<std::int32_t> order(data::batch_range<4> batches) {
  std::vector<std::int32_t> seen;
  for (auto [x, y] : batches) {
    BOOST_TEST((x.shape() == std::array<std::size_t, 2>{4, 3}));
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 3; ++j)
        BOOST_TEST(x(i, j) == static_cast<float>(10 * y[i]) + static_cast<float>(j));
    }
    seen.insert(seen.end(), y.begin(), y.end());
  }
  return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batches_suite)

BOOST_AUTO_TEST_CASE(batches_in_order_are_views_of_the_set) {
  const auto set = numbered(11);
  BOOST_TEST(data::batches<4>(set).size() == 2);
  BOOST_TEST(order(data::batches<4>(set)) == (std::vector{0, 1, 2, 3, 4, 5, 6, 7}),
             boost::test_tools::per_element());
  for (auto [x, y] : data::batches<4>(set)) {
    BOOST_TEST(x.data() == &set.images[static_cast<std::size_t>(3 * y[0])]);
  }
}

BOOST_AUTO_TEST_CASE(shuffled_batches_contain_each_example_once) {
  const auto set = numbered(1000);
  auto seen = order(data::batches<4>(set, seed{1}, 0));
  BOOST_TEST(!std::ranges::is_sorted(seen));
  std::ranges::sort(seen);
  BOOST_TEST(seen == set.labels, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_order_is_a_function_of_seed_and_epoch) {
  const auto set = numbered(40);
  const auto first = order(data::batches<4>(set, seed{1}, 0));
  BOOST_TEST((first == order(data::batches<4>(set, seed{1}, 0))));
  BOOST_TEST((first != order(data::batches<4>(set, seed{1}, 1))));
  BOOST_TEST((first != order(data::batches<4>(set, seed{2}, 0))));
}

// There are 5 examples, and a batch holds 4 of them. All permutations of 5 leave out each example equally often.
BOOST_AUTO_TEST_CASE(every_example_is_left_out_equally_often) {
  const auto set = numbered(5);
  std::vector<int> left_out(5);
  std::set<std::vector<std::int32_t>> orders;
  for (int epoch = 0; epoch < 2000; ++epoch) {
    const auto seen = order(data::batches<4>(set, seed{1}, epoch));
    BOOST_REQUIRE(seen.size() == 4U);
    ++left_out[static_cast<std::size_t>(10 - seen[0] - seen[1] - seen[2] - seen[3])];
    orders.insert(seen);
  }
  BOOST_TEST(orders.size() == 120U);
  for (const int count : left_out) BOOST_TEST((count > 330 && count < 470));
}

BOOST_AUTO_TEST_CASE(the_gather_buffer_is_reused) {
  const auto set = numbered(40);
  auto batches = data::batches<4>(set, seed{1}, 0);
  std::set<const float*> places;
  for (auto [x, y] : batches) places.insert(x.data());
  BOOST_TEST(places.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_set_smaller_than_a_batch_is_refused) {
  const auto set = numbered(3);
  const auto names_both = [](const data::size_error& e) { return e.expected == 4 && e.actual == 3; };
  BOOST_CHECK_EXCEPTION(data::batches<4>(set), data::size_error, names_both);
  BOOST_CHECK_EXCEPTION(data::batches<4>(set, seed{1}, 0), data::size_error, names_both);
  BOOST_TEST(data::batches<3>(set).size() == 1);
}

BOOST_AUTO_TEST_CASE(a_set_with_too_few_pixels_is_refused) {
  auto set = numbered(8);
  set.images.pop_back();
  BOOST_CHECK_EXCEPTION(data::batches<4>(set), data::size_error,
                        [](const data::size_error& e) { return e.expected == 24 && e.actual == 23; });
}

BOOST_AUTO_TEST_SUITE_END()
