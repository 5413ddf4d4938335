// Batches of sequences of different lengths. Each batch has one of a few lengths, which are constants. So each length
// can have a program of its own, and these programs can share their memory.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/batches.hpp"

#include <numeric>
#include <variant>

namespace cairn::data {

/// Sequences of tokens, and a label for each token. To predict the next token, make the labels of a sequence of its
/// tokens 1 to n, and the inputs of its tokens 0 to n - 1.
struct sequences {
  std::vector<std::vector<std::int32_t>> inputs;  ///< one array for each sequence; tokens are not negative
  /// Labels in [0, classes]. Array i has as many labels as inputs[i] has tokens. A loss should ignore the label
  /// `classes`.
  std::vector<std::vector<std::int32_t>> labels;
  int classes = 0;

  /// Returns the number of sequences.
  std::int64_t size() const { return std::ssize(inputs); }
};

/// B sequences in rows of T tokens, for `auto [x, y, lengths]`. All three are views, which are valid until the next
/// batch is asked for. A sequence that is shorter than its row is followed by zeros, with the label
/// sequences::classes.
template <int B, int T>
struct sequence_batch {
  static constexpr int rows = B, length = T;
  tensor_view<const std::int32_t, 2> inputs, labels;  // {B, T}
  std::span<const std::int32_t, B> lengths;           // {B}: tokens of each sequence; 0 if a row has no sequence
};

/// Batches of B sequences. Each sequence is in a batch of the smallest of the lengths that holds the sequence. The
/// sequences must outlive the batches. Batches are copied to buffers that are allocated once, so iterating allocates
/// nothing. An iterator throws std::logic_error after its batches were moved.
///
/// A batch is a std::variant with one sequence_batch<B, length> for each length:
/// `std::visit([&](auto batch) { use<batch.length>(batch.inputs, batch.labels); }, each)`.
///
/// The sequences are gone through in their order, or in the shuffled order. A batch comes as soon as it has B
/// sequences, so batches of all lengths are mixed. At the end, each length can have a last, short batch. Short batches
/// are dropped, or padded and handed out in the order of their lengths, as last_batch says.
template <int B, int... Lengths>
class bucketed_range {
  static constexpr std::array all_lengths{Lengths...};
  static_assert(B > 0 && all_lengths[0] > 0);
  static_assert(std::ranges::is_sorted(all_lengths, std::ranges::less_equal{}), "the lengths ascend");

 public:
  using value_type = std::variant<sequence_batch<B, Lengths>...>;

  /// Makes batches in the order of the sequences. Throws size_error
  /// - if a sequence is empty or longer than the largest length,
  /// - if a sequence has another number of labels than of tokens, or a label or a token that is not allowed,
  /// - or if there is no batch.
  explicit bucketed_range(const sequences& set, batch_options options = {}) : set_(&set), last_(options.last) {
    check(set);
    std::vector<std::uint32_t> order(set.inputs.size());
    std::iota(order.begin(), order.end(), 0U);
    fill_batches(order);
  }
  /// Makes batches of the sequences in a shuffled order. Every permutation is equally likely, and the permutation is a
  /// function of the seed and the epoch. Throws size_error as above.
  bucketed_range(const sequences& set, seed s, std::int64_t epoch, batch_options options = {})
      : set_(&set), last_(options.last), is_shuffled_(true), seed_(s) {
    check(set);
    fill_batches(detail::permutation(set.inputs.size(), random_sequence(s, static_cast<std::uint64_t>(epoch))));
  }

  /// Returns the number of batches.
  std::int64_t size() const { return std::ssize(batches_); }

  class iterator {
   public:
    using value_type = bucketed_range::value_type;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    value_type operator*() const { return range_->at(static_cast<std::size_t>(index_)); }
    iterator& operator++() { return ++index_, *this; }
    iterator operator++(int) { return {range_, index_++}; }
    friend bool operator==(const iterator&, const iterator&) = default;
    /// Describes the batches, except for the epoch. train::loop saves the description with a run, and refuses to resume
    /// the run with other batches.
    std::string description() const { return range_->description(); }

   private:
    friend bucketed_range;
    iterator(bucketed_range* range, std::int64_t index) : range_(range), index_(index) {}
    bucketed_range* range_ = nullptr;
    std::int64_t index_ = 0;
  };
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size()}; }

 private:
  /// A batch: the index of its length, and its sequences, which are [first, first + count) of `order_`.
  struct planned_batch {
    std::size_t length, first, count;
  };

  /// Returns the index of the smallest length that holds a sequence.
  static std::size_t length_for(const std::vector<std::int32_t>& sequence) {
    const auto found = std::ranges::lower_bound(all_lengths, std::ssize(sequence));
    return static_cast<std::size_t>(found - all_lengths.begin());
  }
  static void check(const sequences& set) {
    const auto refuse_of = [](std::size_t sequence, std::string_view what, std::string_view which,
                              std::int64_t expected, std::int64_t actual) {
      refuse(size_error(detail::text_of({what, " of sequence ", std::to_string(sequence), which}), expected, actual));
    };
    if (std::ssize(set.labels) != set.size())
      refuse(size_error("arrays of labels, one for each sequence", set.size(), std::ssize(set.labels)));
    if (set.classes < 1) refuse(size_error("classes of the sequences, at least", 1, set.classes));
    for (std::size_t i = 0; i < set.inputs.size(); ++i) {
      const std::int64_t tokens = std::ssize(set.inputs[i]);
      if (tokens == 0) refuse_of(i, "tokens", ", at least", 1, 0);
      if (tokens > all_lengths.back()) refuse_of(i, "tokens", ", at most", all_lengths.back(), tokens);
      if (std::ssize(set.labels[i]) != tokens) refuse_of(i, "labels", "", tokens, std::ssize(set.labels[i]));
      const auto [least, most] = std::ranges::minmax(set.labels[i]);
      if (least < 0) refuse_of(i, "label", ", at least", 0, least);
      if (most > set.classes) refuse_of(i, "label", ", at most the number of classes", set.classes, most);
      if (const auto token = std::ranges::min(set.inputs[i]); token < 0) refuse_of(i, "token", ", at least", 0, token);
    }
  }
  void fill_batches(const std::vector<std::uint32_t>& order) {
    std::array<std::vector<std::uint32_t>, sizeof...(Lengths)> waiting;
    const auto close = [&](std::size_t length) {
      batches_.push_back({length, order_.size(), waiting[length].size()});
      order_.insert(order_.end(), waiting[length].begin(), waiting[length].end());
      waiting[length].clear();
    };
    for (const std::uint32_t sequence : order) {
      const std::size_t length = length_for(set_->inputs[sequence]);
      waiting[length].push_back(sequence);
      if (waiting[length].size() == std::size_t{B}) close(length);
    }
    std::size_t most = 0;
    for (std::size_t length = 0; length < waiting.size(); ++length) {
      most = std::max(most, waiting[length].size());
      if (last_ == last_batch::padded && !waiting[length].empty()) close(length);
    }
    const bool pads = last_ == last_batch::padded;
    if (batches_.empty())
      refuse(size_error("sequences of one length for a batch", pads ? 1 : B, static_cast<std::int64_t>(most)));
    inputs_.resize(B * std::size_t{all_lengths.back()});
    labels_.resize(inputs_.size());
  }
  std::string description() const {
    std::string lengths;
    for (const int length : all_lengths)
      lengths += detail::text_of({lengths.empty() ? "" : ", ", detail::text_of(length)});
    return detail::text_of({"batches of ", detail::text_of(B), " of ", detail::text_of(set_->size()),
                            " sequences, in lengths ", lengths, last_ == last_batch::padded ? ", padded, " : ", ",
                            is_shuffled_ ? "shuffled by seed " + std::to_string(seed_.value) : "in order"});
  }

  value_type at(std::size_t index) {
    if (inputs_.empty()) refuse(std::logic_error("cairn: these batches were moved; begin anew with the others"));
    const planned_batch& batch = batches_[index];
    const auto length = static_cast<std::size_t>(all_lengths[batch.length]);
    std::fill_n(inputs_.begin(), B * length, 0);
    std::fill_n(labels_.begin(), B * length, set_->classes);
    lengths_.fill(0);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::size_t sequence = order_[batch.first + i];
      const auto row = static_cast<std::ptrdiff_t>(i * length);
      std::ranges::copy(set_->inputs[sequence], inputs_.begin() + row);
      std::ranges::copy(set_->labels[sequence], labels_.begin() + row);
      lengths_[i] = static_cast<std::int32_t>(set_->inputs[sequence].size());
    }
    return as_variant(batch.length, std::make_index_sequence<sizeof...(Lengths)>{});
  }
  /// Returns the buffers as a batch of the length with the given index.
  template <std::size_t... I>
  value_type as_variant(std::size_t index, std::index_sequence<I...>) const {
    using maker = value_type (*)(const bucketed_range&);
    static constexpr maker make[] = {[](const bucketed_range& r) -> value_type {
      using made = std::variant_alternative_t<I, value_type>;
      const std::array<std::size_t, 2> extents{made::rows, made::length};
      return value_type(std::in_place_index<I>,
                        made{{r.inputs_.data(), extents}, {r.labels_.data(), extents}, r.lengths_});
    }...};
    return make[index](*this);
  }

  const sequences* set_;
  last_batch last_ = last_batch::dropped;
  bool is_shuffled_ = false;
  seed seed_{0};  // seed of the permutation
  std::vector<std::uint32_t> order_;
  std::vector<planned_batch> batches_;
  std::vector<std::int32_t> inputs_, labels_;  // the buffers; empty after a move
  std::array<std::int32_t, B> lengths_{};
};

/// Batches of sequences in the given lengths, which ascend.
template <int... Lengths>
  requires(sizeof...(Lengths) > 0)
struct bucketed {
  /// Makes batches in the order of the sequences, for evaluation: `bucketed<64, 128, 256>::batches<16>(set)`.
  template <int B>
  static bucketed_range<B, Lengths...> batches(const sequences& set, batch_options options = {}) {
    return bucketed_range<B, Lengths...>(set, options);
  }
  /// Makes batches that are shuffled anew in each epoch, for training:
  /// `for (auto each : bucketed<64, 128, 256>::batches<16>(set, seed{1}, epoch))`.
  template <int B>
  static bucketed_range<B, Lengths...> batches(const sequences& set, seed s, std::int64_t epoch,
                                               batch_options options = {}) {
    return bucketed_range<B, Lengths...>(set, s, epoch, options);
  }
  // The batches would outlive the sequences.
  template <int B>
  static void batches(const sequences&&, batch_options = {}) = delete;
  template <int B>
  static void batches(const sequences&&, seed, std::int64_t, batch_options = {}) = delete;
};

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
