// Standardizing, setting examples apart, and changes to pictures.
#include "cairn/data/prepare.hpp"

#include "cairn/data/augment.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

using cairn::random_sequence, cairn::seed, cairn::tensor_view;
namespace data = cairn::data;

namespace {

/// Returns a picture {3, 4, 2} whose numbers say where they are: 100 row + 10 column + channel.
std::vector<float> numbered_picture() {
  std::vector<float> numbers;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      for (int k = 0; k < 2; ++k) numbers.push_back(static_cast<float>(100 * r + 10 * c + k));
  return numbers;
}
constexpr data::picture each{.rows = 3, .columns = 4, .channels = 2};

/// Returns `count` pictures in a row, changed by change(images, random).
std::vector<float> changed(std::size_t count, auto change) {
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) std::ranges::copy(numbered_picture(), std::back_inserter(all));
  random_sequence random(seed{1}, 0);
  change(tensor_view<float, 2>(all.data(), {count, 24}), random);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prepare_suite)

BOOST_AUTO_TEST_CASE(channels_are_standardized_with_the_moments_of_the_training_set) {
  const auto sets = data::standardize({{{0, 10, 2, 30}, {0, 1}, 2, 2}, {{4, 20}, {0}, 2, 2}}, 2);
  BOOST_TEST(sets.train.images == (std::vector<float>{-1, -1, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(sets.test.images == (std::vector<float>{3, 0}), boost::test_tools::per_element());
  const data::moments of_all({{0, 10, 2, 30}, {0, 1}, 2, 2});
  BOOST_TEST(of_all.mean()[0] == 10.5);
  BOOST_TEST(of_all.deviation()[0] == std::sqrt((10.5 * 10.5 + 0.25 + 8.5 * 8.5 + 19.5 * 19.5) / 4));
}

BOOST_AUTO_TEST_CASE(moments_of_large_numbers_keep_their_digits) {
  data::dataset set{{}, std::vector<std::int32_t>(1000), 1, 1};
  for (int i = 0; i < 1000; ++i) set.images.push_back(static_cast<float>(1'000'000 + i % 2));
  const data::moments of_set(set);
  BOOST_TEST(of_set.deviation()[0] == 0.5);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_standardized_is_refused) {
  const data::dataset set{{1, 2, 1, 3}, {0, 1}, 2, 2};
  const auto says = [](const char* text) {
    return [text](const data::option_error& e) { return e.what() == std::string(text); };
  };
  BOOST_CHECK_EXCEPTION(data::moments(set, 2), data::option_error,
                        says("deviation of channel 0: expected above 0, got 0"));
  BOOST_CHECK_EXCEPTION(data::moments(set, 3), data::option_error,
                        says("channels: expected a divisor of 2 features, got 3"));
  BOOST_CHECK_THROW(data::moments(set, 0), data::option_error);
  BOOST_CHECK_THROW(data::moments(data::dataset{{1, 2, 3}, {0, 1}, 2, 2}), data::size_error);
  data::dataset other{{1, 2, 3}, {0}, 3, 2};
  BOOST_CHECK_THROW(data::moments(set).standardize(other), data::size_error);
  BOOST_CHECK_THROW(data::moments(data::dataset{{}, {}, 2, 2}), data::size_error);
}

BOOST_AUTO_TEST_CASE(a_share_of_the_examples_is_set_apart) {
  data::dataset set{{}, {}, 2, 100};
  for (int i = 0; i < 100; ++i) {
    set.labels.push_back(i);
    set.images.insert(set.images.end(), {static_cast<float>(i), static_cast<float>(-i)});
  }
  const auto [train, validation] = data::split(set, 0.25, seed{1});
  BOOST_TEST(train.size() == 75);
  BOOST_TEST(validation.size() == 25);
  std::set<std::int32_t> seen;
  for (const auto* part : {&train, &validation}) {
    BOOST_TEST(part->features == 2);
    BOOST_TEST(part->classes == 100);
    BOOST_TEST(std::ranges::is_sorted(part->labels));
    for (std::size_t i = 0; i < part->labels.size(); ++i) {
      seen.insert(part->labels[i]);
      BOOST_TEST(part->images[2 * i] == static_cast<float>(part->labels[i]));
      BOOST_TEST(part->images[2 * i + 1] == static_cast<float>(-part->labels[i]));
    }
  }
  BOOST_TEST(seen.size() == 100U);
  BOOST_TEST((data::split(set, 0.25, seed{1}).validation.labels == validation.labels));
  BOOST_TEST((data::split(set, 0.25, seed{2}).validation.labels != validation.labels));
  BOOST_TEST(data::split(set, 0, seed{1}).validation.size() == 0);
  BOOST_TEST(data::split(set, 0.29, seed{1}).validation.size() == 29);
  BOOST_CHECK_THROW(data::split({{1, 2, 3}, {0, 0, 0}, 3, 1}, 0.3, seed{1}), data::size_error);
  BOOST_CHECK_THROW(data::split(set, 1.5, seed{1}), data::option_error);
  BOOST_CHECK_THROW(data::split(set, std::nan(""), seed{1}), data::option_error);
}

BOOST_AUTO_TEST_CASE(arrays_make_a_data_set) {
  const auto set = data::as_dataset({{2, 3, 1}, {1, 2, 3, 4, 5, 6}}, {{2}, {1, 0}}, 2);
  BOOST_TEST(set.features == 3);
  BOOST_TEST(set.labels == (std::vector<std::int32_t>{1, 0}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(data::as_dataset({{2, 3}, {1, 2, 3, 4, 5, 6}}, {{3}, {1, 0, 1}}, 2), data::size_error);
  BOOST_CHECK_THROW(data::as_dataset({{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 1}, {1, 0}}, 2), data::size_error);
  BOOST_CHECK_THROW(data::as_dataset({{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2}, {1, 2}}, 2), data::size_error);
  BOOST_CHECK_THROW(data::as_dataset({{}, {1}}, {{1}, {0}}, 2), data::size_error);
}

BOOST_AUTO_TEST_CASE(half_of_the_pictures_is_mirrored) {
  const auto all = changed(1000, [](auto images, auto& random) { data::mirror(images, each, random); });
  int mirrored = 0;
  for (std::size_t i = 0; i < all.size(); i += 24) {
    const bool is_mirrored = all[i] == 30;
    mirrored += is_mirrored;
    for (std::size_t at = 0; at < 24; ++at) {
      const std::size_t r = at / 8, c = at / 2 % 4, k = at % 2;
      BOOST_TEST(all[i + at] == static_cast<float>(100 * r + 10 * (is_mirrored ? 3 - c : c) + k));
    }
  }
  BOOST_TEST(std::abs(mirrored - 500) < 60);
}

BOOST_AUTO_TEST_CASE(pictures_are_shifted_by_all_distances) {
  const auto all = changed(1000, [](auto images, auto& random) { data::shift(images, each, 1, random, -5); });
  const auto picture = numbered_picture();
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < all.size(); i += 24) {
    int found = 0;
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right) {
        std::vector<float> wanted(24, -5.0F);
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 4; ++c)
            for (int k = 0; k < 2; ++k)
              if (r - down >= 0 && r - down < 3 && c - right >= 0 && c - right < 4)
                wanted[std::size_t(8 * r + 2 * c + k)] = picture[std::size_t(8 * (r - down) + 2 * (c - right) + k)];
        if (std::equal(wanted.begin(), wanted.end(), all.begin() + static_cast<std::ptrdiff_t>(i)))
          ++found, seen.emplace(down, right);
      }
    BOOST_TEST(found == 1);
  }
  BOOST_TEST(seen.size() == 9U);
  const auto far = changed(
      50, [](auto images, auto& random) { data::shift(images, each, std::numeric_limits<int>::max(), random); });
  BOOST_TEST(std::ranges::count(far, 0.0F) == 50 * 24);  // all pictures have left
}

BOOST_AUTO_TEST_CASE(noise_is_normal) {
  std::vector<float> numbers(100'000, 3.0F);
  random_sequence random(seed{1}, 0);
  data::add_noise(tensor_view<float, 2>(numbers.data(), {100, 1000}), 2, random);
  double sum = 0, squares = 0, fourth = 0;
  for (const float x : numbers) {
    const double far = (x - 3.0) / 2;
    sum += far;
    squares += far * far;
    fourth += far * far * far * far;
  }
  const auto count = static_cast<double>(numbers.size());
  BOOST_TEST(std::abs(sum / count) < 0.015);
  BOOST_TEST(std::abs(squares / count - 1) < 0.02);
  BOOST_TEST(std::abs(fourth / count - 3) < 0.15);
}

BOOST_AUTO_TEST_CASE(changes_that_do_not_fit_are_refused) {
  const auto refuses = [](auto change) { changed(2, change); };
  const auto other = data::picture{.rows = 5, .columns = 5}, negative = data::picture{.rows = -4, .columns = -6};
  BOOST_CHECK_THROW(refuses([&](auto images, auto& random) { data::mirror(images, negative, random); }),
                    data::size_error);
  BOOST_CHECK_EXCEPTION(
      refuses([&](auto images, auto& random) { data::mirror(images, other, random); }), data::size_error,
      [](const data::size_error& e) { return e.what() == std::string("numbers of a picture: expected 25, got 24"); });
  BOOST_CHECK_THROW(refuses([&](auto images, auto& random) { data::shift(images, other, 1, random); }),
                    data::size_error);
  BOOST_CHECK_THROW(refuses([](auto images, auto& random) { data::shift(images, each, -1, random); }),
                    data::option_error);
  BOOST_CHECK_THROW(refuses([](auto images, auto& random) { data::add_noise(images, -1, random); }),
                    data::option_error);
}

BOOST_AUTO_TEST_SUITE_END()
