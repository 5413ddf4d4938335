#include "cairn/data/ahead.hpp"
#include "cairn/data/shards.hpp"
#include "cairn/data/windows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using cairn::seed;
namespace data = cairn::data;

namespace {

static_assert(std::input_iterator<data::batch_range<4>::iterator>);
static_assert(std::ranges::sized_range<data::batch_range<4>>);
static_assert(std::input_iterator<data::shard_range<2, data::batch_range<4>>::iterator>);
static_assert(std::ranges::sized_range<data::shard_range<2, data::batch_range<4>>>);

template <class Set>
concept can_be_batched = requires(Set&& set) { data::batches<4>(static_cast<Set&&>(set)); };
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
      for (std::size_t j = 0; j < 3; ++j) BOOST_TEST(x(i, j) == static_cast<float>(10 * y[i]) + static_cast<float>(j));
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
  BOOST_TEST(order(data::batches<4>(set)) == (std::vector{0, 1, 2, 3, 4, 5, 6, 7}), boost::test_tools::per_element());
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

BOOST_AUTO_TEST_CASE(a_set_that_is_not_as_its_struct_says_is_refused) {
  const auto refuses = [](auto spoil, std::string_view text) {
    auto set = numbered(8);
    spoil(set);
    BOOST_CHECK_EXCEPTION(data::batches<4>(set), data::size_error, [&](const auto& e) { return e.what() == text; });
  };
  refuses([](auto& set) { set.classes = 5; }, "classes of a data set, at least: expected 8, got 5");
  refuses([](auto& set) { set.labels[3] = -1; }, "label of a data set, at least: expected 0, got -1");
  refuses([](auto& set) { set.features = 0, set.images.clear(); },
          "features of a data set, at least: expected 1, got 0");
}

BOOST_AUTO_TEST_CASE(batches_that_were_moved_are_refused) {
  const auto set = numbered(8);
  auto batches = data::batches<4>(set, seed{1}, 0);
  const auto at = batches.begin();
  const auto moved = std::move(batches);
  BOOST_CHECK_THROW(*at, std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_set_with_too_few_pixels_is_refused) {
  auto set = numbered(8);
  set.images.pop_back();
  BOOST_CHECK_EXCEPTION(data::batches<4>(set), data::size_error,
                        [](const data::size_error& e) { return e.expected == 24 && e.actual == 23; });
}

BOOST_AUTO_TEST_CASE(the_last_batch_is_padded_with_a_label_that_no_class_has) {
  const auto set = numbered(6);
  constexpr data::batch_options padded{.last = data::last_batch::padded};
  for (auto batches : {data::batches<4>(set, padded), data::batches<4>(set, seed{1}, 0, padded)}) {
    BOOST_TEST(batches.size() == 2);
    std::vector<std::int32_t> labels;
    for (auto [x, y] : batches) {
      for (std::size_t i = 0; i < 4; ++i) {
        BOOST_TEST(x(i, 0) == (y[i] == 6 ? 0.0F : static_cast<float>(10 * y[i])));
        labels.push_back(y[i]);
      }
    }
    std::ranges::sort(labels);
    BOOST_TEST(labels == (std::vector{0, 1, 2, 3, 4, 5, 6, 6}), boost::test_tools::per_element());
  }
  for (auto [x, y] : data::batches<3>(set, padded)) BOOST_TEST(x.data() == &set.images[3U * std::size_t(y[0])]);
  const auto one = numbered(1), none = numbered(0);
  BOOST_TEST(data::batches<4>(one, padded).size() == 1);
  BOOST_CHECK_THROW(data::batches<4>(none, padded), data::size_error);
}

/// Adds a random number to each pixel of a batch.
const auto add = [](auto images, cairn::random_sequence& random) {
  for (float& x : images) x += static_cast<float>(random.below(1000));
};
/// Returns all pixels and labels in the order of the batches.
std::vector<float> all_numbers(auto batches) {
  std::vector<float> all;
  for (auto [x, y] : batches) {
    all.insert(all.end(), x.begin(), x.end());
    std::ranges::transform(y, std::back_inserter(all), [](std::int32_t label) { return static_cast<float>(label); });
  }
  return all;
}

BOOST_AUTO_TEST_CASE(changed_batches_are_a_function_of_seed_epoch_and_number) {
  const auto set = numbered(40);
  const auto before = set.images;
  const auto first = all_numbers(data::batches<4>(set, seed{1}, 0).changed(add));
  BOOST_TEST(set.images == before);
  BOOST_TEST((first == all_numbers(data::batches<4>(set, seed{1}, 0).changed(add))));
  BOOST_TEST((first != all_numbers(data::batches<4>(set, seed{1}, 1).changed(add))));
  const auto as_they_are = all_numbers(data::batches<4>(set, seed{1}, 0));
  std::set<float> added;
  for (std::size_t i = 0; i < first.size(); ++i) added.insert(first[i] - as_they_are[i]);
  BOOST_TEST(added.size() > 100U);  // of 120 numbers below 1000; equal batches would add 12
  const auto in_order = all_numbers(data::batches<4>(set).changed(add));
  BOOST_TEST((in_order != before));
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_prepares_the_same_batches) {
  const auto set = numbered(43);
  constexpr data::batch_options padded{.last = data::last_batch::padded};
  const auto batches = [&] { return data::batches<4>(set, seed{3}, 2, padded).changed(add); };
  const auto wanted = all_numbers(batches());
  const auto few = numbered(3);
  BOOST_TEST((all_numbers(data::ahead(data::batches<4>(few, padded), {.threads = 3})) ==
              all_numbers(data::batches<4>(few, padded))));
  for (const int threads : {1, 2, 3, 20})
    BOOST_TEST((all_numbers(data::ahead(batches(), {.threads = threads})) == wanted), threads);
  BOOST_CHECK_THROW(data::ahead(batches(), {.threads = 0}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_a_change_throws_comes_out_of_the_iterator) {
  const auto set = numbered(40);
  for (const int bad : {0, 3}) {
    const auto fail = [bad](auto images, cairn::random_sequence&) {
      if (images(0, 0) == static_cast<float>(40 * bad)) throw std::runtime_error("a bad picture");
    };
    auto ahead = data::ahead(data::batches<4>(set).changed(fail), {.threads = 2});
    int seen = 0;
    const auto go = [&] {
      for ([[maybe_unused]] auto [x, y] : ahead) ++seen;
    };
    BOOST_CHECK_THROW(go(), std::runtime_error);
    BOOST_TEST(seen == bad);
  }
}

/// One process of a group that exchanges nothing.
struct silent_process final : cairn::detail::process_group {
  int own, all;
  silent_process(int rank, int size) : own(rank), all(size) {}
  int rank() const override { return own; }
  int size() const override { return all; }
  double patience() const override { return 1; }
  double now() override { return 0; }
  std::vector<int> late_ranks() override { return {}; }
  std::unique_ptr<transfer_list> prepare(std::span<const transfer>) override { return nullptr; }
  [[noreturn]] void end_all(std::string_view) override { std::abort(); }
};
/// Returns all numbers of the shards [first, last) of each step, by step.
template <class Range>
auto numbers_of_shards(Range steps, int first, int last) {
  std::vector<std::vector<float>> all;
  for (const auto& step : steps) {
    auto& numbers = all.emplace_back();
    for (int s = first; s < last; ++s) {
      numbers.insert(numbers.end(), step[s].images.begin(), step[s].images.end());
      numbers.insert(numbers.end(), step[s].labels.begin(), step[s].labels.end());
    }
  }
  return all;
}

BOOST_AUTO_TEST_CASE(shards_of_a_step_are_batches_that_follow_one_another) {
  const auto set = numbered(50);
  const auto batches = [&] { return data::batches<4>(set, seed{1}, 2).changed(add); };
  auto each = batches();
  BOOST_TEST(each.size() == 12);
  std::vector<std::vector<float>> expected;
  for (int number = 0; number < 12; ++number) {
    if (number % 4 == 0) expected.emplace_back();
    const auto [x, y] = each[number];
    expected.back().insert(expected.back().end(), x.begin(), x.end());
    expected.back().insert(expected.back().end(), y.begin(), y.end());
  }
  BOOST_TEST(data::shards<8>(batches()).size() == 1);  // the last four batches do not fill a step
  BOOST_TEST((numbers_of_shards(data::shards<4>(batches()), 0, 4) == expected));
  // Each process has its shards of the same steps, also if threads prepare them.
  const std::size_t numbers_of_shard = expected[0].size() / 4;
  for (const int size : {1, 2, 4}) {
    for (int rank = 0; rank < size; ++rank) {
      const silent_process all(rank, size);
      const int first = 4 / size * rank, last = 4 / size * (rank + 1);
      std::vector<std::vector<float>> own;
      for (const auto& step : expected)
        own.emplace_back(step.begin() + static_cast<std::ptrdiff_t>(numbers_of_shard) * first,
                         step.begin() + static_cast<std::ptrdiff_t>(numbers_of_shard) * last);
      BOOST_TEST((numbers_of_shards(data::shards<4>(batches(), all), first, last) == own));
      for (const int threads : {1, 3})
        BOOST_TEST((
            numbers_of_shards(data::ahead(data::shards<4>(batches(), all), {.threads = threads}), first, last) == own));
    }
  }
}
BOOST_AUTO_TEST_CASE(a_process_prepares_its_own_shards_alone) {
  const auto set = numbered(64);
  std::atomic<int> prepared = 0;
  const auto counting = [&](auto, cairn::random_sequence&) { ++prepared; };
  const auto batches = [&] { return data::batches<4>(set, seed{1}, 0).changed(counting); };
  numbers_of_shards(data::shards<8>(batches()), 2, 4);  // each shard is asked for twice, for its images and labels
  BOOST_TEST(prepared == 4);                            // two steps of two shards
  prepared = 0;
  const silent_process all(1, 4);
  numbers_of_shards(data::ahead(data::shards<8>(batches(), all)), 2, 4);
  BOOST_TEST(prepared == 4);
}
BOOST_AUTO_TEST_CASE(a_copy_of_shards_gathers_its_own_batches) {
  const auto set = numbered(16);
  auto steps = data::shards<2>(data::batches<4>(set, seed{1}, 0));
  const auto labels_of = [](auto& of, int step) {
    auto at = of.begin();
    for (int i = 0; i < step; ++i) ++at;
    const auto labels = (*at)[0].labels;
    return std::vector<int>(labels.begin(), labels.end());
  };
  const std::vector<int> first = labels_of(steps, 0);
  auto copy = steps;
  BOOST_TEST((labels_of(steps, 1) != first));
  BOOST_TEST((labels_of(copy, 0) == first));
  const auto moved = [&] { return std::move(copy); };
  auto there = moved();
  BOOST_TEST((labels_of(there, 0) == first));
}
BOOST_AUTO_TEST_CASE(shards_that_do_not_fit_are_refused) {
  const auto set = numbered(40);
  const silent_process all(1, 2);
  BOOST_CHECK_THROW(data::shards<16>(data::batches<4>(set)), data::size_error);
  BOOST_CHECK_THROW(data::shards<4>(data::batches<4>(set), silent_process(0, 3)), data::size_error);
  BOOST_CHECK_THROW(data::shards<4>(data::batches<4>(set), silent_process(0, 8)), data::size_error);
  auto steps = data::shards<4>(data::batches<4>(set), all);
  const auto step = *steps.begin();
  BOOST_CHECK_NO_THROW(step[2]);
  for (const int other : {-1, 1, 4})
    BOOST_CHECK_EXCEPTION(step[other], data::option_error, [&](const data::option_error& error) {
      return error.what() == "shard of this process: expected 2 to 3, got " + std::to_string(other);
    });
}
BOOST_AUTO_TEST_CASE(windows_can_be_shards) {
  std::vector<std::int32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  auto each = data::windows<2, 5>(tokens, seed{1}, 0);
  std::vector<std::int32_t> expected, found;
  for (const auto& window : each) expected.insert(expected.end(), window.inputs.begin(), window.inputs.end());
  auto steps = data::shards<3>(data::windows<2, 5>(tokens, seed{1}, 0));
  for (const auto& step : steps) {
    for (int s = 0; s < 3; ++s) found.insert(found.end(), step[s].inputs.begin(), step[s].inputs.end());
  }
  BOOST_TEST(std::ssize(found) == steps.size() * 30);
  BOOST_TEST(std::ranges::equal(found, std::span(expected).first(found.size())));
  BOOST_TEST(steps.begin().description() == "3 shards: " + each.begin().description());
}

BOOST_AUTO_TEST_SUITE_END()
