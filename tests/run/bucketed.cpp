// Batches of sequences of different lengths, and programs of these lengths that share memory.
#include "cairn/data/bucketed.hpp"

#include "cairn/cairn.hpp"
#include "cairn/train/loop.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <variant>
#include <vector>

#include "run/folder.hpp"

using namespace cairn;

namespace {

using buckets = data::bucketed<4, 8, 16>;
using range = data::bucketed_range<2, 4, 8, 16>;
static_assert(std::input_iterator<range::iterator> && std::ranges::sized_range<range>);

template <class Set>
concept can_be_bucketed = requires(Set&& set) { buckets::batches<2>(static_cast<Set&&>(set)); };
static_assert(can_be_bucketed<const data::sequences&> && !can_be_bucketed<data::sequences>);

constexpr int classes = 9;

/// Returns sequences of the given lengths. Token t of sequence i is 100 i + t, and its label is (i + t) % 9.
data::sequences of_lengths(const std::vector<int>& lengths) {
  data::sequences set;
  set.classes = classes;
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
    auto& inputs = set.inputs.emplace_back();
    auto& labels = set.labels.emplace_back();
    for (int t = 0; t < lengths[static_cast<std::size_t>(i)]; ++t) {
      inputs.push_back(100 * i + t);
      labels.push_back((i + t) % classes);
    }
  }
  return set;
}
data::sequences many() {
  std::vector<int> lengths;
  for (int i = 0; i < 101; ++i) lengths.push_back(1 + i * 7 % 16);
  return of_lengths(lengths);
}

/// A row of a batch: the length of the batch, and the number of the sequence, or -1 if the row has none.
struct row {
  int length, sequence;
  friend bool operator==(const row&, const row&) = default;
};
/// Returns all rows, after checking each of them.
std::vector<row> rows_of(range batches, const data::sequences& set) {
  std::vector<row> rows;
  std::int64_t count = 0;
  for (const auto& each : batches) {
    ++count;
    std::visit(
        [&](auto batch) {
          const auto [x, y, lengths] = batch;
          BOOST_TEST((x.shape() == std::array<std::size_t, 2>{2, std::size_t{batch.length}}));
          for (std::size_t b = 0; b < 2; ++b) {
            const auto tokens = static_cast<std::size_t>(lengths[b]);
            rows.push_back({batch.length, tokens == 0 ? -1 : x(b, 0) / 100});
            const int from = batch.length == 4 ? 0 : batch.length / 2;
            BOOST_TEST((tokens == 0 || (lengths[b] > from && lengths[b] <= batch.length)));
            for (std::size_t t = 0; t < std::size_t{batch.length}; ++t) {
              const auto sequence = static_cast<std::size_t>(std::max(rows.back().sequence, 0));
              BOOST_TEST(x(b, t) == (t < tokens ? set.inputs[sequence][t] : 0));
              BOOST_TEST(y(b, t) == (t < tokens ? set.labels[sequence][t] : classes));
            }
          }
        },
        each);
  }
  BOOST_TEST(count == batches.size());
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bucketed_suite)

BOOST_AUTO_TEST_CASE(a_batch_comes_as_soon_as_it_is_full) {
  const auto set = of_lengths({4, 9, 5, 1, 16, 8, 3, 2, 6, 1});
  const std::vector<row> full{{4, 0}, {4, 3}, {16, 1}, {16, 4}, {8, 2}, {8, 5}, {4, 6}, {4, 7}};
  BOOST_TEST((rows_of(buckets::batches<2>(set), set) == full));
  auto padded = full;
  for (const row one : {row{4, 9}, {4, -1}, {8, 8}, {8, -1}}) padded.push_back(one);
  BOOST_TEST((rows_of(buckets::batches<2>(set, {.last = data::last_batch::padded}), set) == padded));
}

BOOST_AUTO_TEST_CASE(shuffled_batches_have_each_sequence_once) {
  const auto set = many();
  const auto rows = rows_of(buckets::batches<2>(set, seed{1}, 0, {.last = data::last_batch::padded}), set);
  std::vector<int> seen;
  for (const row& one : rows) {
    if (one.sequence >= 0) seen.push_back(one.sequence);
  }
  BOOST_TEST(!std::ranges::is_sorted(seen));
  std::ranges::sort(seen);
  BOOST_TEST(seen.size() == 101U);
  BOOST_TEST((std::ranges::adjacent_find(seen) == seen.end()));
  const auto lengths = rows | std::views::transform(&row::length);
  BOOST_TEST(!std::ranges::is_sorted(lengths));
  const auto full = rows_of(buckets::batches<2>(set, seed{1}, 0), set);
  BOOST_TEST(std::ranges::equal(full, rows | std::views::take(full.size())));
}

BOOST_AUTO_TEST_CASE(the_order_is_a_function_of_seed_and_epoch) {
  const auto set = many();
  const auto first = rows_of(buckets::batches<2>(set, seed{1}, 0), set);
  BOOST_TEST((first == rows_of(buckets::batches<2>(set, seed{1}, 0), set)));
  BOOST_TEST((first != rows_of(buckets::batches<2>(set, seed{1}, 1), set)));
  BOOST_TEST((first != rows_of(buckets::batches<2>(set, seed{2}, 0), set)));
}

BOOST_AUTO_TEST_CASE(a_run_can_go_on_in_the_middle_of_an_epoch) {
  const auto set = many();
  auto batches = buckets::batches<2>(set, seed{1}, 3);
  const auto all = rows_of(buckets::batches<2>(set, seed{1}, 3), set);
  auto at = batches.begin();
  std::ranges::advance(at, 20, batches.end());
  std::visit([&](auto batch) { BOOST_TEST(batch.inputs(0, 0) / 100 == all[40].sequence); }, *at);
}

BOOST_AUTO_TEST_CASE(buffers_are_reused) {
  const auto set = many();
  auto batches = buckets::batches<2>(set, seed{1}, 0);
  const std::int32_t* place = nullptr;
  for (const auto& each : batches) {
    const auto* const here = std::visit([](auto batch) { return batch.inputs.data(); }, each);
    BOOST_TEST((place == nullptr || place == here));
    place = here;
  }
}

BOOST_AUTO_TEST_CASE(batches_that_were_moved_are_refused) {
  const auto set = many();
  auto batches = buckets::batches<2>(set);
  const auto at = batches.begin();
  const auto moved = std::move(batches);
  BOOST_CHECK_THROW(*at, std::logic_error);
}

BOOST_AUTO_TEST_CASE(sequences_that_do_not_fit_are_refused) {
  const auto refuses = [](auto spoil, std::string_view text, std::int64_t expected, std::int64_t actual) {
    auto set = of_lengths({4, 9, 5, 1, 16});
    spoil(set);
    const auto names_both = [&](const data::size_error& e) {
      BOOST_TEST(e.what() == text);
      return e.expected == expected && e.actual == actual;
    };
    BOOST_CHECK_EXCEPTION(buckets::batches<2>(set), data::size_error, names_both);
    BOOST_CHECK_EXCEPTION(buckets::batches<2>(set, seed{1}, 0), data::size_error, names_both);
  };
  refuses([](auto& set) { set.inputs[3].resize(17); }, "tokens of sequence 3, at most: expected 16, got 17", 16, 17);
  refuses([](auto& set) { set.inputs[1].clear(); }, "tokens of sequence 1, at least: expected 1, got 0", 1, 0);
  refuses([](auto& set) { set.labels[2].pop_back(); }, "labels of sequence 2: expected 5, got 4", 5, 4);
  refuses([](auto& set) { set.labels.pop_back(); }, "arrays of labels, one for each sequence: expected 5, got 4", 5, 4);
  refuses([](auto& set) { set.labels[0][1] = 10; },
          "label of sequence 0, at most the number of classes: expected 9, got 10", 9, 10);
  refuses([](auto& set) { set.labels[0][1] = -1; }, "label of sequence 0, at least: expected 0, got -1", 0, -1);
  refuses([](auto& set) { set.classes = 0; }, "classes of the sequences, at least: expected 1, got 0", 1, 0);
  refuses([](auto& set) { set.inputs[4][15] = -7; }, "token of sequence 4, at least: expected 0, got -7", 0, -7);

  const auto few = of_lengths({4, 9});
  BOOST_CHECK_EXCEPTION(buckets::batches<2>(few), data::size_error, [](const data::size_error& e) {
    return e.what() == std::string_view("sequences of one length for a batch: expected 2, got 1");
  });
  BOOST_TEST((buckets::batches<2>(few, {.last = data::last_batch::padded}).size() == 2));
  auto marked = of_lengths({4, 4});
  marked.labels[0][0] = classes;  // a label that the user ignores
  BOOST_TEST(buckets::batches<2>(marked).size() == 1);
}

// --- Training.

template <int T>
constexpr auto scores = indices<"text", 10116, 2, T> | nn::embedding<"embedding", 8> | nn::linear<"head", classes>;
template <int T>
constexpr auto loss =
    cross_entropy<nn::cross_entropy_options{.ignore_index = classes}>(scores<T>, labels<"next", classes + 1, 2, T>);
template <int T>
using trainer = program<loss<T>, update<adamw_options{}>>;

/// One model in three lengths.
struct trainers {
  trainer<16> longest;
  trainer<8> middle{longest};
  trainer<4> shortest{longest};

  float operator()(double rate, const range::value_type& each) {
    const auto programs = std::tie(shortest, middle, longest);
    return std::visit(
        [&](auto batch) {
          return std::get<trainer<batch.length>&>(programs).train({.lr = rate}, bind<"text">(batch.inputs),
                                                                  bind<"next">(batch.labels));
        },
        each);
  }
};

// A padded position changes neither the loss nor a gradient.
BOOST_AUTO_TEST_CASE(padding_changes_no_loss) {
  const auto set = of_lengths({3, 4});
  trainer<4> step;
  step.init(seed{1});
  auto batches = buckets::batches<2>(set);
  const auto batch = std::get<0>(*batches.begin());
  const float loss = step.train(bind<"text">(batch.inputs), bind<"next">(batch.labels));
  constexpr auto seven =
      cross_entropy(indices<"text", 10116, 7> | nn::embedding<"embedding", 8> | nn::linear<"head", classes>,
                    labels<"next", classes, 7>);
  program<seven> without;
  without.init(seed{1});
  const std::vector<std::int32_t> tokens{0, 1, 2, 100, 101, 102, 103}, next{0, 1, 2, 1, 2, 3, 4};
  BOOST_TEST(loss == without.value_and_grad(bind<"text">(tokens), bind<"next">(next)),
             boost::test_tools::tolerance(1e-6F));
}

BOOST_AUTO_TEST_CASE(a_run_in_buckets_resumes_with_the_same_bits) {
  const auto set = many();
  const folder whole, parts;
  const auto options = [](const folder& place) {
    return train::loop_options{.epochs = 2,
                               .rate = constant_rate{0.01},
                               .folder = place.path / "run",
                               .resume = true,
                               .save_every = 5,
                               .shows_progress = false};
  };
  const auto epoch = [&](int number) { return buckets::batches<2>(set, seed{1}, number); };
  const auto run = [&](const folder& place, int steps) {
    trainers all;
    all.shortest.init(seed{1});
    train::loop loop{all.longest, options(place)};
    loop(epoch, [&](double rate, const auto& each) {
      if (steps-- == 0) throw std::runtime_error("stopped");
      return all(rate, each);
    });
    all.middle.save(place.path / "last");
  };
  run(whole, 1000);
  BOOST_CHECK_THROW(run(parts, 23), std::runtime_error);
  BOOST_CHECK_THROW(run(parts, 40), std::runtime_error);
  run(parts, 1000);
  BOOST_TEST((read_bytes(whole.path / "last") == read_bytes(parts.path / "last")));
  BOOST_TEST(read_bytes(whole.path / "last").size() > 1000U);

  trainers all;
  BOOST_CHECK_EXCEPTION(
      (train::loop{all.longest,
                   [&] {
                     auto more = options(parts);
                     more.epochs = 3;
                     return more;
                   }()})([&](int number) { return buckets::batches<2>(set, seed{2}, number); },
                         [&](double rate, const auto& each) { return all(rate, each); }),
      std::exception, [](const std::exception& e) {
        return std::string(e.what()).find("'batches of 2 of 101 sequences, in lengths 4, 8, 16, shuffled by seed 1'") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_SUITE_END()
