// Batches of windows of a text, in order or drawn at random. The targets of a window are the same window, one token
// later.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/base/tensor_view.hpp"
#include "cairn/data/errors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::data {

/// B windows of T tokens, for `auto [x, y, begins]`. The inputs and the targets are views, which are valid until the
/// next batch is asked for.
template <int B, int T>
struct window_batch {
  tensor_view<const std::int32_t, 2> inputs;   // {B, T}
  tensor_view<const std::int32_t, 2> targets;  // {B, T}: for each input, the token that follows it
  bool begins;                                 ///< true if no window continues a window of the batch before
};

/// Batches of windows of tokens. The tokens must outlive them. Windows are copied to two buffers that are allocated
/// once, so iterating allocates nothing. An iterator throws std::logic_error after its windows were moved.
template <int B, int T>
class window_range {
  static_assert(B > 0 && T > 0);

 public:
  /// Makes windows in order. The tokens are divided into B streams. Window b of a batch continues window b of the batch
  /// before, so each stream is read from its beginning to its end. Throws size_error if there are too few tokens for
  /// one batch.
  explicit window_range(std::span<const std::int32_t> tokens) : window_range(tokens, B * std::int64_t{T} + 1) {
    size_ = stream_length() / T;
  }
  /// Draws windows. A window may begin at any token that has T tokens after it. Where the windows of batch n begin is a
  /// function of the seed, the epoch and n: they are drawn from random_sequence(seed, epoch << 32 | n). There are about
  /// as many batches as are needed to read all tokens once, and at least one. Throws size_error if there are too few
  /// tokens for one window, or if there are 2^32 tokens or more.
  window_range(std::span<const std::int32_t> tokens, seed s, std::int64_t epoch) : window_range(tokens, T + 1) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    if (std::ssize(tokens) > most) refuse(size_error("tokens to draw windows from, at most", most, std::ssize(tokens)));
    size_ = std::max<std::int64_t>(stream_length() / T, 1);
    drawn_ = true;
    seed_ = s;
    epoch_ = static_cast<std::uint64_t>(epoch);
  }

  /// Returns the number of batches.
  std::int64_t size() const { return size_; }
  /// Returns batch number `index`, counted from 0. Its views are valid until another batch is asked for.
  window_batch<B, T> operator[](std::int64_t index) {
    if (inputs_.empty()) refuse(std::logic_error("cairn: these windows were moved; begin anew with the others"));
    random_sequence random(seed_, epoch_ << 32 | static_cast<std::uint64_t>(index));
    for (int b = 0; b < B; ++b) {
      const std::int64_t from =
          drawn_ ? random.below(static_cast<std::uint32_t>(std::ssize(tokens_) - T)) : b * stream_length() + index * T;
      const auto window = tokens_.subspan(static_cast<std::size_t>(from), T + 1);
      const std::ptrdiff_t to = b * std::ptrdiff_t{T};
      std::ranges::copy(window.first(T), inputs_.begin() + to);
      std::ranges::copy(window.last(T), targets_.begin() + to);
    }
    return {{inputs_.data(), {B, T}}, {targets_.data(), {B, T}}, drawn_ || index == 0};
  }

  class iterator {
   public:
    using value_type = window_batch<B, T>;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    window_batch<B, T> operator*() const { return (*range_)[index_]; }
    iterator& operator++() { return ++index_, *this; }
    iterator operator++(int) { return {range_, index_++}; }
    friend bool operator==(const iterator&, const iterator&) = default;
    /// Describes the windows, except for the epoch. train::loop saves the description with a run, and refuses to resume
    /// the run with other windows.
    std::string description() const { return range_->description(); }

   private:
    friend window_range;
    iterator(window_range* range, std::int64_t index) : range_(range), index_(index) {}
    window_range* range_ = nullptr;
    std::int64_t index_ = 0;
  };
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size()}; }

 private:
  window_range(std::span<const std::int32_t> tokens, std::int64_t least)
      : tokens_(tokens), inputs_(B * std::size_t{T}), targets_(inputs_.size()) {
    if (std::ssize(tokens) < least) refuse(size_error("tokens for a batch of windows", least, std::ssize(tokens)));
  }

  std::string description() const {
    return detail::text_of({detail::text_of(B), " windows of ", detail::text_of(T), " of ",
                            detail::text_of(std::ssize(tokens_)), " tokens, ",
                            drawn_ ? "drawn by seed " + std::to_string(seed_.value) : "in order"});
  }
  std::int64_t stream_length() const { return (std::ssize(tokens_) - 1) / B; }

  std::span<const std::int32_t> tokens_;
  std::int64_t size_ = 0;
  bool drawn_ = false;
  seed seed_;
  std::uint64_t epoch_ = 0;
  std::vector<std::int32_t> inputs_, targets_;
};

/// Makes windows in order: `for (auto [x, y, begins] : windows<32, 64>(tokens))`. Use them to evaluate, and to train a
/// model that carries a state from batch to batch.
template <int B, int T>
window_range<B, T> windows(std::span<const std::int32_t> tokens) {
  return window_range<B, T>(tokens);
}
/// Draws windows anew in each epoch, for training:
/// `for (auto [x, y, begins] : windows<8, 256>(tokens, seed{1}, epoch))`.
template <int B, int T>
window_range<B, T> windows(std::span<const std::int32_t> tokens, seed s, std::int64_t epoch) {
  return window_range<B, T>(tokens, s, epoch);
}
template <int B, int T, class Tokens>
  requires(!std::ranges::borrowed_range<Tokens>)
window_range<B, T> windows(Tokens&&, auto...) = delete;  // the windows would outlive the tokens

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
