// How the steps of a loop are reversed with few snapshots of its state: what to do next, from binomial numbers alone.
// Griewank, Walther: Algorithm 799: Revolve (ACM Transactions on Mathematical Software, 2000).
//
// Steps are numbered from 0; state i is what step i begins with. State 0 is always there, and counts as snapshot 0.
// What comes after the loop, a loss, is the turn: it is reversed before any step.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cairn {

/// How often the body of a loop is evaluated, how often a state is saved, and how often one is gone on from.
struct loop_counts {
  std::int64_t evaluations = 0, saves = 0, loads = 0;
  std::int64_t sum_bytes = 0;  ///< of working space in which gradients are summed over more than section_terms steps

  constexpr loop_counts& operator+=(const loop_counts& more) {
    evaluations += more.evaluations;
    saves += more.saves;
    loads += more.loads;
    sum_bytes += more.sum_bytes;
    return *this;
  }
  friend constexpr loop_counts operator*(std::int64_t n, const loop_counts& of) {
    return {n * of.evaluations, n * of.saves, n * of.loads, of.sum_bytes};
  }
  friend constexpr bool operator==(const loop_counts&, const loop_counts&) = default;
};

namespace reversal {

inline constexpr int none = -1;

/// C(s + t, s), how many steps s snapshots reverse if none is evaluated more than t + 1 times; `most` where that is
/// less.
constexpr std::int64_t reach(std::int64_t s, std::int64_t t,
                             std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  if (s < 0 || t < 0) return 0;
  std::int64_t n = 1;
  for (std::int64_t k = 1; k <= std::min(s, t); ++k) {
    n = n * (std::max(s, t) + k) / k;
    if (n >= most) return most;
  }
  return n;
}
/// The least t with C(s + t, s) >= n.
constexpr std::int64_t repetitions(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  std::int64_t t = 0;
  while (reach(s, t, n) < n) ++t;
  return t;
}
/// How far to go on from a snapshot before the next one, n > 1 steps being left and s snapshots with this one: of all
/// that is optimal the most, so that the fewest are saved.
constexpr std::int64_t stride(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  const std::int64_t t = repetitions(n, s);
  return std::min(reach(s, t - 1, n), n - reach(s - 1, t - 1, n));
}

/// Evaluations to reverse n steps with s snapshots, the last time that each is evaluated, to be reversed, among them.
constexpr std::int64_t evaluations(std::int64_t n, std::int64_t s) {
  const std::int64_t t = repetitions(n, s);
  return (t + 1) * n - reach(s + 1, t - 1);
}
/// How many snapshots are saved meanwhile. Of the two parts in which a stride cuts C(s + t, s) steps each is such a
/// number, too, and they save C(s - 1 + t, t) - 1; of other numbers of steps one part is.
constexpr std::int64_t saves(std::int64_t n, std::int64_t s) {
  std::int64_t sum = 0;
  for (std::int64_t t = repetitions(n, s); n > 1 && s > 1; ++sum) {
    while (t > 0 && reach(s, t - 1, n) >= n) --t;
    const std::int64_t one = reach(s, t - 1, n), other = n - reach(s - 1, t - 1, n);
    if (n - std::min(one, other) == 1) --sum;  // the last step is reversed from the state at hand
    if (one <= other) {
      sum += reach(s - 1, t - 1) - 1;
      n -= one;
      --s;
    } else {
      sum += reach(s - 2, t - 1) - 1;
      n = other;
    }
  }
  return sum;
}
constexpr loop_counts counts(std::int64_t n, std::int64_t s) { return {evaluations(n, s), saves(n, s), n - 1}; }

/// What to do next. `advance`: evaluate steps [from, to), and save the state that is then at hand as snapshot `slot`,
/// or do not. `restore`: go on from snapshot `slot`. `record`: evaluate steps [from, to), each of which leaves what its
/// reversal reads. `reverse`: step `from`, which is recorded, or, if no record came before, whose state is at hand.
struct action {
  enum : std::uint8_t { advance, restore, record, reverse, done } what = done;
  int from = 0, to = 0, slot = none;
};

/// Reverses the steps from `first` to `last`, whose first state is snapshot 0, with so many snapshots.
template <int Snapshots>
class binomial {
 public:
  constexpr binomial(int first, int last, bool at_hand) : now_(at_hand ? first : none), last_(last) { at_[0] = first; }

  constexpr action next() {
    if (last_ < at_[0]) return {};
    if (at_[count_ - 1] > last_) --count_;  // all from there on is reversed
    if (now_ == none) {
      now_ = at_[count_ - 1];
      return {.what = action::restore, .slot = count_ - 1};
    }
    if (now_ == last_) {
      now_ = none;
      return {.what = action::reverse, .from = last_--};
    }
    const int from = now_;
    now_ += static_cast<int>(stride(std::int64_t{last_} - now_ + 1, Snapshots - count_ + 1));
    if (now_ == last_) return {action::advance, from, now_, none};
    at_[count_] = now_;
    return {action::advance, from, now_, count_++};
  }

 private:
  int at_[Snapshots] = {};  ///< which states the snapshots are
  int now_, last_;          ///< which state is at hand, or none; the last step that is not reversed yet
  int count_ = 1;
};

/// Steps in periods of equal length, but for the last one, which may be shorter; forward leaves the state between two
/// of them as a snapshot.
template <int T, int Period>
struct periods {
  static constexpr int count = (T - 1) / Period + 1;
  static constexpr int begin(int period) { return period * Period; }
  static constexpr int end(int period) { return period + 1 == count ? T : begin(period + 1); }
  static constexpr action advance(int period) {
    return {action::advance, begin(period), end(period), period + 1 == count ? none : period + 1};
  }
};

}  // namespace reversal

// What each policy has:
//   keeps_steps          each step leaves what backward reads, and none is evaluated again: no slots, no schedule
//   lies_elsewhere       snapshots that forward leaves lie in memory that the user gives
//   rewrites_snapshots   backward writes over those that forward left
//   recorded_at_once     so many steps at most leave what backward reads before it reads that; 0: one does, in scratch
//   fits<T>              whether it is one for loops of T steps
//   counts<T>            what it takes, forward and backward together
//   slots<T>             snapshots that forward leaves, beside the first state, which is an argument
//   slots_of_backward    and those that backward has for itself
//   schedule<T>          its actions, by next(): those of forward, the reversal of the turn, and then of all steps

/// A policy of scan: each step leaves in memory what its backward reads, as in a model without checkpoints. No step is
/// evaluated a second time.
struct store_all {
  static constexpr bool keeps_steps = true, lies_elsewhere = false, rewrites_snapshots = false;
  static constexpr int recorded_at_once = 0;
  template <int T>
  static constexpr bool fits = true;
  template <int T>
  static constexpr loop_counts counts{T, T, T};
};

/// A policy of scan: so many snapshots of what is carried, the first state among them, and the fewest evaluations of
/// the body that are possible with these: for T steps, and the loss behind them, F(T + 1, S) - 1, where F(n, s) =
/// (t + 1) n - C(s + t, t - 1), t the least with C(s + t, s) >= n.
template <int Snapshots>
struct revolve {
  static constexpr bool keeps_steps = false, lies_elsewhere = false, rewrites_snapshots = true;
  template <int T>
  static constexpr bool fits = Snapshots >= 1 && Snapshots <= T;
  template <int T>
  static constexpr int slots = Snapshots - 1;
  static constexpr int slots_of_backward = 0, recorded_at_once = 0;
  template <int T>
  static constexpr loop_counts counts = [] {
    loop_counts n = reversal::counts(std::int64_t{T} + 1, Snapshots);
    --n.evaluations;  // the turn is none
    return n;
  }();
  template <int T>
  class schedule : public reversal::binomial<Snapshots> {
   public:
    constexpr schedule() : reversal::binomial<Snapshots>(0, T, true) {}
  };
};

/// Where snapshots lie that forward leaves for backward: in the arena of the program, or in memory that its user gives.
enum class snapshots : bool { in_arena, elsewhere };

/// A policy of scan: a snapshot of what is carried every Period steps, and within such a period, when it is reversed,
/// revolve<Snapshots>, of which the snapshot at its beginning is the first. With snapshots::elsewhere, those of every
/// Period steps lie where keep_snapshots_in of the program says.
template <int Period, int Snapshots, snapshots Where = snapshots::in_arena>
struct two_level {
  static constexpr bool keeps_steps = false, lies_elsewhere = Where == snapshots::elsewhere, rewrites_snapshots = false;
  template <int T>
  static constexpr bool fits = Period >= 1 && Period <= T && Snapshots >= 1 && Snapshots <= Period;
  template <int T>
  static constexpr int slots = reversal::periods<T, Period>::count - 1;
  static constexpr int slots_of_backward = Snapshots - 1, recorded_at_once = 0;
  template <int T>
  static constexpr loop_counts counts = [] {
    using periods = reversal::periods<T, Period>;
    loop_counts n = slots<T> * reversal::counts(Period, Snapshots);
    n += reversal::counts(T - periods::begin(slots<T>), Snapshots);
    n += {T, slots<T>, periods::count};
    return n;
  }();
  template <int T>
  class schedule {
   public:
    constexpr reversal::action next() {
      using reversal::action;
      if (ahead_ < periods::count) return periods::advance(ahead_++);
      if (period_ == periods::count) {
        begin(period_ - 1);
        return {.what = action::reverse, .from = T};
      }
      action made = within_.next();
      if (made.what == action::done && period_ > 0) {
        begin(period_ - 1);
        made = within_.next();
      }
      if (made.slot == 0) made.slot = period_;
      else if (made.slot > 0) made.slot += slots<T>;
      return made;
    }

   private:
    using periods = reversal::periods<T, Period>;
    constexpr void begin(int period) {
      period_ = period;
      within_ = {periods::begin(period), periods::end(period) - 1, false};
    }
    int ahead_ = 0, period_ = periods::count;  ///< the next one of forward; the one that is reversed
    reversal::binomial<Snapshots> within_{0, 0, false};
  };
};

/// A policy of scan: so many steps are a segment. The state before each segment is kept, and backward evaluates its
/// steps a second time, which then leave in memory what backward reads, as with store_all.
template <int Period>
struct segment_every {
  static constexpr bool keeps_steps = false, lies_elsewhere = false, rewrites_snapshots = false;
  static constexpr int slots_of_backward = 0, recorded_at_once = Period;
  template <int T>
  static constexpr bool fits = Period >= 1 && Period <= T;
  template <int T>
  static constexpr int slots = reversal::periods<T, Period>::count - 1;
  template <int T>
  static constexpr loop_counts counts{2 * std::int64_t{T}, slots<T>, slots<T> + 1};
  template <int T>
  class schedule {
   public:
    constexpr reversal::action next() {
      using reversal::action;
      if (ahead_ < periods::count) return periods::advance(ahead_++);
      if (last_ >= recorded_) return {.what = action::reverse, .from = last_--};
      if (last_ < 0) return {};
      const int segment = last_ / Period;
      if (at_hand_ != segment) {
        at_hand_ = segment;
        return {.what = action::restore, .slot = segment};
      }
      recorded_ = periods::begin(segment);
      return {action::record, recorded_, last_ + 1};
    }

   private:
    using periods = reversal::periods<T, Period>;
    int ahead_ = 0;                 ///< the next segment of forward
    int last_ = T, recorded_ = T;   ///< the last step that is not reversed yet, and from where on they are recorded
    int at_hand_ = reversal::none;  ///< the segment whose first state that is
  };
};

}  // namespace cairn
