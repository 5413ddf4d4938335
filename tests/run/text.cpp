// Text as tokens, windows of tokens, and draws from logits.
#include "cairn/data/text.hpp"

#include "cairn/data/draw.hpp"
#include "cairn/data/windows.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "folder.hpp"

using cairn::random_sequence, cairn::seed;
namespace data = cairn::data;

namespace {

static_assert(std::input_iterator<data::window_range<2, 3>::iterator>);
static_assert(std::ranges::sized_range<data::window_range<2, 3>>);

// Tokens must outlive their windows. Therefore temporaries are refused.
template <class Tokens, class... More>
concept has_windows = requires(Tokens&& tokens, More... more) {
  data::windows<2, 3>(static_cast<Tokens&&>(tokens), more...);
};
using numbers = std::vector<std::int32_t>;
static_assert(has_windows<numbers&> && has_windows<const numbers&, seed, int>);
static_assert(has_windows<std::span<const std::int32_t>, seed, int> && has_windows<std::span<std::int32_t>>);
static_assert(!has_windows<numbers> && !has_windows<const numbers> && !has_windows<numbers, seed, int>);
static_assert(!has_windows<std::array<std::int32_t, 9>> && has_windows<std::array<std::int32_t, 9>&>);

constexpr std::size_t length(std::string_view text) { return data::detail::bytes_of_character(text); }
static_assert(length("a") == 1 && length("\u00e9") == 2 && length("\u20ac") == 3 && length("\U0001f600") == 4);
static_assert(length("\x7f") == 1 && length("\u0080") == 2 && length("\u07ff") == 2 && length("\u0800") == 3);
static_assert(length("\ud7ff") == 3 && length("\ue000") == 3 && length("\U00010000") == 4 && length("\U0010ffff") == 4);
static_assert(length("\x80") == 0 && length("\xc1\xbf") == 0 && length("\xff") == 0 && length("\xf5\x80\x80\x80") == 0);
static_assert(length("\xe0\x9f\xbf") == 0 && length("\xf0\x8f\xbf\xbf") == 0);  // longer than needed
// A surrogate, and a number beyond the last code point.
static_assert(length("\xed\xa0\x80") == 0 && length("\xf4\x90\x80\x80") == 0);
static_assert(length("\xe2\x82") == 0 && length("\xc3") == 0 && length("\xc3(") == 0);  // cut off

/// Returns 0, 1, 2, ..., so that a token tells its position.
std::vector<std::int32_t> numbered(int count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}
/// Returns where the windows of a batch begin. Checks that each window is contiguous and that the target of each token
/// is the next token.
template <int B, int T>
std::vector<std::int32_t> begins_of(const data::window_batch<B, T>& batch) {
  std::vector<std::int32_t> first;
  BOOST_TEST((batch.inputs.shape() == std::array<std::size_t, 2>{B, T}));
  BOOST_TEST((batch.targets.shape() == batch.inputs.shape()));
  for (std::size_t b = 0; b < B; ++b) {
    first.push_back(batch.inputs(b, 0));
    for (std::size_t t = 0; t < T; ++t) {
      BOOST_TEST(batch.inputs(b, t) == first.back() + static_cast<int>(t));
      BOOST_TEST(batch.targets(b, t) == batch.inputs(b, t) + 1);
    }
  }
  return first;
}
template <int B, int T>
std::vector<std::vector<std::int32_t>> all_begins(data::window_range<B, T> windows) {
  std::vector<std::vector<std::int32_t>> out;
  for (const auto& batch : windows) out.push_back(begins_of(batch));
  return out;
}

/// Returns how often each index is drawn.
template <class Row>
std::vector<double> frequencies(const Row& row, const data::draw_options& how, int draws) {
  std::vector<double> count(std::size(row));
  random_sequence random(seed{7}, 0);
  for (int i = 0; i < draws; ++i) count[static_cast<std::size_t>(data::draw(row, how, random))] += 1;
  return count;
}
/// Returns Pearson's statistic of counts against probabilities. An index with probability 0 must not occur.
double chi_squared(const std::vector<double>& count, const std::vector<double>& p) {
  const double draws = std::accumulate(count.begin(), count.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) BOOST_TEST(count[i] == 0);
    else sum += (count[i] - draws * p[i]) * (count[i] - draws * p[i]) / (draws * p[i]);
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_suite)

BOOST_AUTO_TEST_CASE(characters_are_sorted_and_decoded_again) {
  const std::string all = "b\u00e9a \u20acb\U0001f600\u00e9";
  const data::text text{data::vocabulary::characters(all), all};
  BOOST_TEST(text.symbols.size() == 6);
  BOOST_TEST(text.tokens == (std::vector<std::int32_t>{2, 3, 1, 0, 4, 2, 5, 3}), boost::test_tools::per_element());
  BOOST_TEST(text.symbols.decode(text.tokens) == all);
  BOOST_TEST(text.symbols.decode(std::vector<std::int32_t>{}) == "");
}

BOOST_AUTO_TEST_CASE(a_vocabulary_is_rebuilt_from_its_symbols) {
  const auto known = data::vocabulary::characters("b\u00e9a \u20acb\U0001f600\u00e9");
  BOOST_TEST(known.all() == " ab\u00e9\u20ac\U0001f600");
  const auto again = data::vocabulary::characters(known.all());
  BOOST_TEST(again.size() == known.size());
  BOOST_TEST(again.encode(known.all()) == numbered(6), boost::test_tools::per_element());
  BOOST_TEST(data::vocabulary::bytes().all().size() == 256);
}

BOOST_AUTO_TEST_CASE(all_bytes_can_be_tokens) {
  std::string all;
  for (int byte = 255; byte >= 0; --byte) all += static_cast<char>(byte);
  const data::text text{data::vocabulary::bytes(), all};
  BOOST_TEST(text.symbols.size() == 256);
  BOOST_TEST(text.tokens[0] == 255);
  BOOST_TEST(text.symbols.decode(text.tokens) == all);
}

BOOST_AUTO_TEST_CASE(errors_name_the_position_and_the_character) {
  const auto is = [](std::int64_t position, const std::string& expected, const std::string& actual) {
    return [=](const data::text_error& e) {
      return e.position == position && e.expected == expected && e.actual == actual;
    };
  };
  BOOST_CHECK_EXCEPTION(data::vocabulary::characters("a\u00e9\xff!"), data::text_error, is(3, "UTF-8", "a byte 0xff"));
  const auto known = data::vocabulary::characters("abc");
  BOOST_CHECK_EXCEPTION(known.encode("ab\u00e9"), data::text_error, is(2, "a character of the vocabulary", "\u00e9"));
  BOOST_CHECK_EXCEPTION(known.encode("a\xc3"), data::text_error, is(1, "UTF-8", "a byte 0xc3"));
  BOOST_CHECK_EXCEPTION(known.decode(std::vector{0, 2, 3}), data::text_error, is(2, "one below 3", "3"));
  BOOST_CHECK_EXCEPTION(known.decode(std::vector{-1}), data::text_error, is(0, "one below 3", "-1"));
}

BOOST_AUTO_TEST_CASE(files_are_read_completely) {
  const folder here;
  const std::string all = std::string(100'000, 'x') + "\u00e9\n", path = here.plain("some.txt", all);
  BOOST_TEST(data::read_bytes(path).tokens.size() == 100'003U);
  BOOST_TEST(data::read_characters(path).symbols.size() == 3);
  BOOST_TEST((data::read_characters(path).symbols.decode(data::read_characters(path).tokens) == all));
  for (const std::string& none : {path + ".not", here.path.string()}) {
    BOOST_CHECK_EXCEPTION(data::read_bytes(none), data::file_error, [&](const data::file_error& e) {
      return e.file == none && e.expected == "a readable file" && !e.actual.empty();
    });
  }
}

BOOST_AUTO_TEST_CASE(the_end_of_a_text_is_split_off_for_validation) {
  const data::text text{data::vocabulary::bytes(), "0123456789"};
  const auto [train, validation] = text.split(0.25);
  BOOST_TEST(text.symbols.decode(train) == "0123456");
  BOOST_TEST(text.symbols.decode(validation) == "789");
  BOOST_TEST(text.split(0).validation.empty());
  BOOST_CHECK_EXCEPTION(text.split(1.5), data::option_error,
                        [](const data::option_error& e) { return e.expected == "0 to 1"; });
}

BOOST_AUTO_TEST_CASE(windows_in_order_continue_each_stream) {
  const auto tokens = numbered(26);  // two streams of 12 tokens, with 4 windows of 3 each
  BOOST_TEST((all_begins(data::windows<2, 3>(tokens)) ==
              std::vector<std::vector<std::int32_t>>{{0, 12}, {3, 15}, {6, 18}, {9, 21}}));
  std::vector<bool> begins;
  for (auto [x, y, begin] : data::windows<2, 3>(tokens)) begins.push_back(begin);
  BOOST_TEST((begins == std::vector{true, false, false, false}));
}

BOOST_AUTO_TEST_CASE(drawn_windows_are_a_function_of_seed_epoch_and_number) {
  const auto tokens = numbered(1000);
  const auto first = all_begins(data::windows<4, 5>(tokens, seed{1}, 0));
  BOOST_TEST(first.size() == 999U / 4 / 5);
  BOOST_TEST((std::set(first.begin(), first.end()).size() == first.size()));
  BOOST_TEST((first == all_begins(data::windows<4, 5>(tokens, seed{1}, 0))));
  BOOST_TEST((first != all_begins(data::windows<4, 5>(tokens, seed{1}, 1))));
  BOOST_TEST((first != all_begins(data::windows<4, 5>(tokens, seed{2}, 0))));
  // A run that continues in the middle of an epoch sees the remaining windows.
  auto again = data::windows<4, 5>(tokens, seed{1}, 0);
  auto at = again.begin();
  std::ranges::advance(at, 30, again.end());
  BOOST_TEST((begins_of(*at) == first[30]));
  for (auto [x, y, begins] : data::windows<4, 5>(tokens, seed{1}, 0)) BOOST_TEST(begins);
  auto few = data::windows<4, 5>(tokens, seed{1}, 0) | std::views::take(10);
  auto within = few.begin();
  std::ranges::advance(within, 7, few.end());
  BOOST_TEST(few.size() == 10U);
  BOOST_TEST((begins_of(*within) == first[7]));
}

BOOST_AUTO_TEST_CASE(a_drawn_window_begins_everywhere_equally_often) {
  const auto tokens = numbered(9);  // a window of 4 tokens and the next token can begin at 0 to 4
  std::vector<double> count(5);
  for (int epoch = 0; epoch < 5000; ++epoch) {
    for (const auto& batch : data::windows<1, 4>(tokens, seed{3}, epoch)) {
      const auto from = static_cast<std::size_t>(begins_of(batch)[0]);
      BOOST_REQUIRE(from < 5U);
      count[from] += 1;
    }
  }
  // 4 degrees of freedom: one seed in 10,000 exceeds this
  BOOST_TEST(chi_squared(count, std::vector<double>(5, 0.2)) < 23.5);
}

BOOST_AUTO_TEST_CASE(buffers_of_windows_are_reused) {
  const auto tokens = numbered(100);
  auto windows = data::windows<2, 3>(tokens, seed{1}, 0);
  std::set<const std::int32_t*> places;
  for (auto [x, y, begins] : windows) places.insert({x.data(), y.data()});
  BOOST_TEST(places.size() == 2U);
}

BOOST_AUTO_TEST_CASE(too_few_tokens_for_a_window_are_refused) {
  const auto tokens = numbered(6);
  const auto names_both = [](std::int64_t expected) {
    return [=](const data::size_error& e) { return e.expected == expected && e.actual == 6; };
  };
  BOOST_CHECK_EXCEPTION((data::windows<2, 3>(tokens)), data::size_error, names_both(7));
  BOOST_CHECK_EXCEPTION((data::windows<2, 6>(tokens, seed{1}, 0)), data::size_error, names_both(7));
  BOOST_TEST((all_begins(data::windows<2, 5>(tokens, seed{1}, 0)) == std::vector<std::vector<std::int32_t>>{{0, 0}}));
}

BOOST_AUTO_TEST_CASE(windows_are_drawn_from_fewer_than_two_to_the_32_tokens) {
  const auto tokens = numbered(6);
  const auto claimed = [&](std::size_t size) { return std::span(tokens.data(), size); };  // the tokens are never read
  const auto drawn = [](std::span<const std::int32_t> from) { return data::windows<2, 3>(from, seed{1}, 0).size(); };
  constexpr std::int64_t most = 0xffff'ffff;
  BOOST_TEST(drawn(claimed(most)) == (most - 1) / 2 / 3);
  BOOST_CHECK_EXCEPTION(drawn(claimed(most + 1)), data::size_error,
                        [](const data::size_error& e) { return e.expected == most && e.actual == most + 1; });
  BOOST_TEST((data::windows<2, 3>(claimed(most + 1)).size()) == most / 2 / 3);  // in order, all tokens are used
}

// The bounds of chi-squared are exceeded by one seed in 10,000.
BOOST_AUTO_TEST_CASE(draws_follow_the_softmax) {
  const std::vector<float> row{1, -2, 0.5F, 3, -std::numeric_limits<float>::infinity(), 2.5F};
  const auto softmax = [&](double temperature, double least) {
    std::vector<double> p;
    for (const float x : row) p.push_back(x < least ? 0 : std::exp(static_cast<double>(x) / temperature));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
  };
  BOOST_TEST(chi_squared(frequencies(row, {}, 20'000), softmax(1, -1e9)) < 23.5);
  BOOST_TEST(chi_squared(frequencies(row, {.temperature = 2}, 20'000), softmax(2, -1e9)) < 23.5);
  BOOST_TEST(chi_squared(frequencies(row, {.temperature = 0.8, .top_k = 3}, 20'000), softmax(0.8, 1)) < 18.5);
  BOOST_TEST(frequencies(row, {.temperature = 0}, 10)[3] == 10);
  BOOST_TEST(frequencies(row, {.temperature = 1e-300}, 10)[3] == 10);
  BOOST_TEST(frequencies(row, {.top_k = 1}, 10)[3] == 10);
}

BOOST_AUTO_TEST_CASE(among_equal_logits_the_first_count_as_larger) {
  const std::vector<double> row{0, 5, 5, 5};
  BOOST_TEST(frequencies(row, {.temperature = 0}, 10)[1] == 10);
  const auto count = frequencies(row, {.top_k = 2}, 1000);
  BOOST_TEST(count[1] + count[2] == 1000);
}

BOOST_AUTO_TEST_CASE(draws_from_large_logits) {
  const auto count = frequencies(std::vector<float>{1e4F, 1e4F, -1e4F, 3e38F - 3e38F}, {}, 1000);
  BOOST_TEST(count[0] + count[1] == 1000);
  BOOST_TEST(count[0] > 400);
  BOOST_TEST(frequencies(std::vector{-1e308, 1e308}, {}, 10)[1] == 10);
}

BOOST_AUTO_TEST_CASE(the_nth_draw_depends_on_seed_sequence_and_n) {
  const std::vector<float> flat(1000), sharp{0, 100};
  const auto third = [&](const data::draw_options& before) {
    random_sequence random(seed{1}, 5);
    data::draw(sharp, before, random);
    data::draw(flat, before, random);
    return data::draw(flat, {}, random);
  };
  BOOST_TEST(third({}) == third({.temperature = 0}));
  BOOST_TEST(third({}) == third({.temperature = 3, .top_k = 7}));
}

BOOST_AUTO_TEST_CASE(impossible_logits_and_options_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  random_sequence random(seed{1}, 0);
  const auto refused = [&](std::vector<double> row, std::int64_t index) {
    BOOST_CHECK_EXCEPTION(data::draw(row, {}, random), data::logit_error,
                          [=](const data::logit_error& e) { return e.index == index; });
  };
  refused({1, nan}, 1);
  refused({infinity, 1}, 0);
  refused({-infinity, -infinity}, -1);
  refused({}, -1);
  const std::vector<double> row{1, 2};
  for (const double temperature : {-1.0, nan, infinity})
    BOOST_CHECK_THROW(data::draw(row, {.temperature = temperature}, random), data::option_error);
  BOOST_CHECK_THROW(data::draw(row, {.top_k = -1}, random), data::option_error);
}

BOOST_AUTO_TEST_SUITE_END()
