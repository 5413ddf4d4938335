// Computes in which order the iterations of a scan are reversed with few snapshots of the scan's state. Binomial
// numbers alone determine the next action, without a table of actions. Griewank, Walther: Algorithm 799: Revolve (ACM
// Transactions on Mathematical Software, 2000).
//
// Iterations are numbered from 0. State i is the carried values with which iteration i begins. State 0 is always
// available, and counts as snapshot 0. The computation after the scan, usually a loss, is called the turn. The turn of
// a scan of T iterations has the number T, and it is reversed before any iteration.
#pragma once

#include "cairn/base/compiler.hpp"
#include "cairn/base/none.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cairn {

/// Counts what a scan does.
struct loop_counts {
  /// How often the scan's body is evaluated, a state is saved as a snapshot, and evaluation goes on from a snapshot.
  std::int64_t evaluations = 0, saves = 0, loads = 0;
  std::int64_t sum_bytes = 0;  ///< bytes of workspace for sums of gradients over more than section_terms iterations

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

namespace detail::reversal {

using detail::none;

/// Returns C(s + t, s), or `most` if `most` is less. C(s + t, s) is the largest number of iterations that s snapshots
/// can reverse if no iteration is evaluated more than t + 1 times.
constexpr std::int64_t most_iterations(std::int64_t s, std::int64_t t,
                                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  if (s < 0 || t < 0) return 0;
  std::int64_t n = 1;
  for (std::int64_t k = 1; k <= std::min(s, t); ++k) {
    n = n * (std::max(s, t) + k) / k;
    if (n >= most) return most;
  }
  return n;
}
/// Returns the least t with C(s + t, s) >= n.
constexpr std::int64_t repetitions(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  std::int64_t t = 0;
  while (most_iterations(s, t, n) < n) ++t;
  return t;
}
/// Returns how many iterations to evaluate from the newest snapshot before the next snapshot is saved. `n` > 1
/// iterations are left, and `s` snapshots can be used for them, including the newest one. Several answers may be
/// optimal. The function returns the largest, because it saves the fewest snapshots.
constexpr std::int64_t stride(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  const std::int64_t t = repetitions(n, s);
  return std::min(most_iterations(s, t - 1, n), n - most_iterations(s - 1, t - 1, n));
}

/// Returns the number of evaluations that reverse n iterations with s snapshots. The number includes the last
/// evaluation of each iteration, directly before the iteration is reversed.
constexpr std::int64_t evaluations(std::int64_t n, std::int64_t s) {
  const std::int64_t t = repetitions(n, s);
  return (t + 1) * n - most_iterations(s + 1, t - 1);
}
/// Returns how many snapshots are saved while n iterations are reversed with s snapshots.
///
/// If n = C(s + t, s) for some t, the number is C(s - 1 + t, t) - 1, because both parts into which a stride cuts the
/// iterations have a length of this form again. For any other n, at least one of the two parts has a length of this
/// form. The loop adds the number for this part and continues with the other part.
constexpr std::int64_t saves(std::int64_t n, std::int64_t s) {
  std::int64_t sum = 0;
  for (std::int64_t t = repetitions(n, s); n > 1 && s > 1; ++sum) {
    while (t > 0 && most_iterations(s, t - 1, n) >= n) --t;
    const std::int64_t one = most_iterations(s, t - 1, n), other = n - most_iterations(s - 1, t - 1, n);
    if (n - std::min(one, other) == 1) --sum;  // the last iteration is reversed from the current state, without a save
    if (one <= other) {
      sum += most_iterations(s - 1, t - 1) - 1;
      n -= one;
      --s;
    } else {
      sum += most_iterations(s - 2, t - 1) - 1;
      n = other;
    }
  }
  return sum;
}
/// Returns the counts of reversing n iterations with s snapshots.
constexpr loop_counts counts(std::int64_t n, std::int64_t s) { return {evaluations(n, s), saves(n, s), n - 1}; }

/// The next thing to do.
/// - `advance`: evaluate iterations [from, to). Then save the current state as snapshot `slot`, unless `slot` is none.
/// - `restore`: go on from snapshot `slot`.
/// - `record`: evaluate iterations [from, to). Each leaves in memory what its reversal reads.
/// - `reverse`: reverse iteration `from`. If a record came before, the iteration was recorded. Otherwise the iteration
///   begins with the current state.
/// - `done`: all iterations have been reversed.
struct action {
  enum : std::uint8_t { advance, restore, record, reverse, done } what = done;
  int from = 0, to = 0, slot = none;
};

/// The actions that reverse iterations `first` to `last`, both included, with `Snapshots` snapshots. State `first` is
/// snapshot 0. `is_current` says that state `first` is the current state when the actions begin.
template <int Snapshots>
class binomial {
 public:
  constexpr binomial(int first, int last, bool is_current) : now_(is_current ? first : none), last_(last) {
    at_[0] = first;
  }

  constexpr action next() {
    if (last_ < at_[0]) return {};
    if (at_[count_ - 1] > last_) --count_;  // all iterations from the newest snapshot on have been reversed
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
  int at_[Snapshots] = {};  ///< the number of the state in each snapshot
  int now_, last_;          ///< the number of the current state, or none; the last iteration not yet reversed
  int count_ = 1;           ///< how many snapshots are in use
};

/// T iterations, cut into periods of `Period` iterations. The last period may be shorter. The forward pass leaves the
/// state between two periods as a snapshot.
template <int T, int Period>
struct periods {
  static constexpr int count = (T - 1) / Period + 1;
  static constexpr int begin(int period) { return period * Period; }
  static constexpr int end(int period) { return period + 1 == count ? T : begin(period + 1); }
  static constexpr action advance(int period) {
    return {action::advance, begin(period), end(period), period + 1 == count ? none : period + 1};
  }
};

}  // namespace detail::reversal

// Each policy of a scan has these members:
//   stores_iterations         true if each iteration stores what the backward pass reads, and none is recomputed. The
//                             policy then has neither slots nor a schedule.
//   snapshots_in_user_memory  true if the snapshots of the forward pass are in memory that the user gives
//   overwrites_snapshots      true if the backward pass writes over snapshots of the forward pass
//   segment_length            how many iterations at most the backward pass recomputes and stores before it reverses
//                             them; 0: one iteration at a time, in the workspace
//   fits<T>                   true if the policy can be used for scans of T iterations
//   counts<T>                 the counts of forward and backward pass together
//   slots<T>                  how many snapshots the forward pass stores, without the first state, which is an argument
//   backward_slots            how many further snapshots the backward pass keeps in its workspace
//   schedule<T>               the policy's actions, which next() returns one after another: the actions of the forward
//                             pass, the reversal of the turn, and the actions that reverse all iterations

/// A policy of scan: each iteration stores what its backward pass reads, as in a model without segments. No iteration
/// is evaluated a second time.
struct store_all {
  static constexpr bool stores_iterations = true, snapshots_in_user_memory = false, overwrites_snapshots = false;
  static constexpr int segment_length = 0;
  template <int T>
  static constexpr bool fits = true;
  template <int T>
  static constexpr loop_counts counts{T, T, T};
};

/// A policy of scan: stores at most `Snapshots` snapshots of the carried values, including the first state. The body is
/// evaluated as rarely as is possible with S = `Snapshots`. For T iterations and the loss after them, there are
/// F(T + 1, S) - 1 evaluations, where F(n, s) = (t + 1) n - C(s + t, t - 1), and t is the least with C(s + t, s) >= n.
/// `Snapshots` must be in [1, T].
template <int Snapshots>
struct revolve {
  static constexpr bool stores_iterations = false, snapshots_in_user_memory = false, overwrites_snapshots = true;
  template <int T>
  static constexpr bool fits = Snapshots >= 1 && Snapshots <= T;
  template <int T>
  static constexpr int slots = Snapshots - 1;
  static constexpr int backward_slots = 0, segment_length = 0;
  template <int T>
  static constexpr loop_counts counts = [] {
    loop_counts n = detail::reversal::counts(std::int64_t{T} + 1, Snapshots);
    --n.evaluations;  // the turn does not evaluate the body
    return n;
  }();
  template <int T>
  class schedule : public detail::reversal::binomial<Snapshots> {
   public:
    constexpr schedule() : detail::reversal::binomial<Snapshots>(0, T, true) {}
  };
};

/// The memory for snapshots that the forward pass stores for the backward pass: the arena of the program, or memory
/// that the program's user gives.
enum class snapshots : bool { in_arena, elsewhere };

/// A policy of scan: the forward pass stores a snapshot of the carried values every `Period` iterations. The backward
/// pass reverses one period after another as revolve<Snapshots> does. The snapshot at the beginning of the period is
/// one of these `Snapshots`. With snapshots::elsewhere, the snapshots of the forward pass are in the memory that was
/// given to the program's keep_snapshots_in. `Period` must be in [1, T], and `Snapshots` in [1, Period].
template <int Period, int Snapshots, snapshots Where = snapshots::in_arena>
struct two_level {
  static constexpr bool stores_iterations = false, snapshots_in_user_memory = Where == snapshots::elsewhere,
                        overwrites_snapshots = false;
  template <int T>
  static constexpr bool fits = Period >= 1 && Period <= T && Snapshots >= 1 && Snapshots <= Period;
  template <int T>
  static constexpr int slots = detail::reversal::periods<T, Period>::count - 1;
  static constexpr int backward_slots = Snapshots - 1, segment_length = 0;
  template <int T>
  static constexpr loop_counts counts = [] {
    using periods = detail::reversal::periods<T, Period>;
    loop_counts n = slots<T> * detail::reversal::counts(Period, Snapshots);
    n += detail::reversal::counts(T - periods::begin(slots<T>), Snapshots);
    n += {T, slots<T>, periods::count};
    return n;
  }();
  template <int T>
  class schedule {
   public:
    constexpr detail::reversal::action next() {
      using detail::reversal::action;
      if (next_forward_ < periods::count) return periods::advance(next_forward_++);
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
    using periods = detail::reversal::periods<T, Period>;
    constexpr void begin(int period) {
      period_ = period;
      within_ = {periods::begin(period), periods::end(period) - 1, false};
    }
    int next_forward_ = 0,
        period_ = periods::count;  ///< the next period of the forward pass; the period being reversed
    detail::reversal::binomial<Snapshots> within_{0, 0, false};
  };
};

/// A policy of scan: every `Period` iterations are a segment. The forward pass stores the state before each segment.
/// The backward pass recomputes all iterations of a segment, which store what their backward pass reads, as with
/// store_all. `Period` must be in [1, T].
template <int Period>
struct segment_every {
  static constexpr bool stores_iterations = false, snapshots_in_user_memory = false, overwrites_snapshots = false;
  static constexpr int backward_slots = 0, segment_length = Period;
  template <int T>
  static constexpr bool fits = Period >= 1 && Period <= T;
  template <int T>
  static constexpr int slots = detail::reversal::periods<T, Period>::count - 1;
  template <int T>
  static constexpr loop_counts counts{2 * std::int64_t{T}, slots<T>, slots<T> + 1};
  template <int T>
  class schedule {
   public:
    constexpr detail::reversal::action next() {
      using detail::reversal::action;
      if (next_forward_ < periods::count) return periods::advance(next_forward_++);
      if (last_ >= recorded_) return {.what = action::reverse, .from = last_--};
      if (last_ < 0) return {};
      const int segment = last_ / Period;
      if (current_segment_ != segment) {
        current_segment_ = segment;
        return {.what = action::restore, .slot = segment};
      }
      recorded_ = periods::begin(segment);
      return {action::record, recorded_, last_ + 1};
    }

   private:
    using periods = detail::reversal::periods<T, Period>;
    int next_forward_ = 0;         ///< the next segment of the forward pass
    int last_ = T, recorded_ = T;  ///< the last iteration not yet reversed; the first iteration that is recorded
    int current_segment_ = detail::reversal::none;  ///< the segment that begins with the current state, or none
  };
};

}  // namespace cairn
