// Runs scans. The plan of a scan's body runs once for each iteration, with other bases each time. The backward pass
// recomputes iterations from a few snapshots.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/run/executable.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/plan/scan.hpp"

#include <charconv>
#include <cstring>
#include <utility>

namespace cairn {

namespace detail {
/// One run of a scan or of its pullback.
template <class Loop, class Target, bool Backward>
class loop_runner {
  using scan_plan = plan::loop_plan<Loop, Target>;
  using of = typename scan_plan::of;
  using policy = typename Loop::policy;
  static constexpr const auto& g = scan_plan::g;
  static constexpr const auto& figures = scan_plan::figures;
  static constexpr const auto& carried = scan_plan::carried.of;
  static constexpr int steps = Loop::iterations, turn = scan_plan::f.turn;
  static constexpr auto parts = scan_plan::parts_of(Backward);
  static constexpr const auto& unread = scan_plan::template unread<Backward>;
  static constexpr bool keeps = figures.stored_bytes > 0;

  /// The addresses of the carried values, by number.
  struct state {
    std::byte* at[scan_plan::carried_count];
  };

 public:
  loop_runner(void* const* operands, int threads) : threads_(threads) {
    const auto next = [&operands] { return static_cast<std::byte*>(*operands++); };
    if constexpr (Backward) {
      for (int i = 0; i < of::arguments; ++i) {
        if (of::wanted.by_leaf[i]) gradients_[i] = next();
      }
      for (int r = 0; r < g.result_count; ++r) {
        if (g.cotangents[r] != graph::none) cotangents_[r] = next();
      }
      for (int r = 0; r < g.output_count; ++r) {
        if (scan_hooks<Loop, Target>::backward_reads(r)) results_[r] = next();
      }
    } else {
      for (std::byte*& result : results_) result = next();
    }
    if (keeps) kept_ = next();
    for (std::byte*& argument : arguments_) argument = next();
    if constexpr (Backward) {
      for (int i = 0; i < of::arguments; ++i) {
        if (of::summed.by_leaf[i]) so_far_[i] = next();
      }
    }
    if constexpr (Backward) nothing_ = next();
    std::byte* scratch = next();
    const auto part = [&scratch](std::int64_t bytes) { return std::exchange(scratch, scratch + bytes); };
    bases_[plan::constant_base] = const_cast<std::byte*>(body::constants.at);
    bases_[plan::position_base] = graph::first_position();
    bases_[plan::arena_base] = part(parts.arena);
    states_ = part(parts.states);
    snapshots_ = part(parts.snapshots);
    pulls_ = part(parts.pulled);
    bases_[plan::kept_base] = recorded_ = part(parts.kept);
    unread_ = part(parts.unread);
    zeros_ = part(parts.zeros);
    open_ = part(parts.sums);
    bases_[plan::scratch_base] = scratch;
    for (int i = 0; i < of::arguments; ++i) bases_[plan::leaf_base + i] = arguments_[i];
    for (int k = 0; k < scan_plan::carried_count; ++k) first_.at[k] = arguments_[carried[k].leaf];
  }

  void forward() {
    if constexpr (policy::stores_iterations) {
      recorded_ = kept_;
      recorded_end_ = steps;
      state now = first_;
      for (int t = 0; t < steps; ++t) {
        const state next = t + 1 == steps ? last_state(now) : kept_state(t + 1, other_than(now));
        if (kept_ != nullptr) bases_[plan::kept_base] = kept_step(t);
        evaluate(t, now, next);
        now = next;
      }
    } else {
      typename policy::template schedule<steps> schedule;
      state now = first_;
      for (reversal::action a = schedule.next(); a.what == reversal::action::advance; a = schedule.next())
        now = advance(a, now);
    }
  }

  void backward() {
    begin_gradients(std::make_integer_sequence<int, of::arguments>{});
    std::memset(zeros_, 0, parts.zeros);
    for (int k = 0; k < Loop::carried_count; ++k) pulled_.at[k] = cotangents_[k] == nothing_ ? zeros_ : cotangents_[k];
    if constexpr (policy::stores_iterations) {
      recorded_ = kept_;
      entered_ = first_;
      left_ = last_state(first_);
      recorded_end_ = steps;
      for (int t = steps; t-- > 0;) pull_back_recorded(t);
    } else {
      using reversal::action;
      typename policy::template schedule<steps> schedule;
      action a = schedule.next();
      while (a.what == action::advance) a = schedule.next();  // the forward pass already ran these actions
      state now = first_;
      for (a = schedule.next(); a.what != action::done; a = schedule.next()) {
        if (a.what == action::restore) {
          now = a.slot == 0 ? first_ : snapshot(a.slot);
        } else if (a.what == action::advance) {
          now = advance(a, now);
        } else if constexpr (scan_plan::records) {
          if (a.what == action::record) record(a, now);
          else pull_back_recorded(a.from);
        } else {
          record(a.from, now, other_than(now));
          pull_back(a.from);
        }
      }
    }
  }

 private:
  using body = executable<typename scan_plan::compiled>;

  static state state_at(std::byte* at) {
    state out;
    for (int k = 0; k < scan_plan::carried_count; ++k) out.at[k] = at + carried[k].offset;
    return out;
  }
  /// Returns a state in workspace that does not overlap `now`. There are two states in workspace.
  state other_than(const state& now) const {
    bool first = false;
    for (int k = 0; k < scan_plan::carried_count; ++k) first |= now.at[k] == states_ + carried[k].offset;
    return state_at(first ? states_ + scan_plan::state_bytes : states_);
  }
  /// Returns the addresses of the carried values after the last iteration. A carried value lies in the result of the
  /// scan if the result is used, and in workspace otherwise.
  state last_state(const state& before) const {
    state out = other_than(before);
    for (int k = 0; k < scan_plan::carried_count; ++k) {
      if (results_[carried[k].result] != nullptr) out.at[k] = results_[carried[k].result];
    }
    return out;
  }
  state snapshot(int slot) const {
    // The forward pass stores snapshots 1 to `left`. The backward pass stores snapshots with larger numbers.
    const int number = slot - 1, left = policy::template slots<steps>;
    return state_at(number < left ? kept_ + number * scan_plan::state_bytes
                                  : snapshots_ + (number - left) * scan_plan::state_bytes);
  }
  /// `kept_step` returns where iteration t stores the values that its backward pass reads. `kept_state` returns the
  /// addresses of the carried values before iteration t. Carried values that are stored lie in front of the values of
  /// all iterations. The values before the first iteration of a segment are not among them.
  std::byte* kept_step(int t) const {
    return recorded_ + (recorded_end_ - recorded_begin_ - 1) * scan_plan::carried.kept_bytes +
           (t - recorded_begin_) * scan_plan::places.kept_bytes;
  }
  state kept_state(int t, state others) const {
    for (int k = 0; k < scan_plan::carried_count; ++k) {
      if (recorded_ != nullptr && carried[k].kept != graph::none)
        others.at[k] = recorded_ + (t - recorded_begin_ - 1) * scan_plan::carried.kept_bytes + carried[k].kept;
    }
    return others;
  }

  /// Makes the body read and write the memory of iteration t. The body reads the carried values at `now` and writes
  /// them to `next`.
  void place(int t, const state& now, const state& next) {
    for (int k = 0; k < scan_plan::carried_count; ++k) {
      bases_[plan::leaf_base + carried[k].leaf] = now.at[k];
      bases_[scan_plan::result_base + carried[k].result] = next.at[k];
    }
    const std::int64_t recorded = Backward && scan_plan::records ? t - recorded_begin_ : 0;
    for (int r = Loop::carried_count; r < g.result_count; ++r) {
      std::byte* const whole = results_[r];
      const int base = scan_plan::result_base + r;
      const std::int64_t kept = unread.at[base] < unread.kept ? 0 : recorded * (unread.bytes - unread.kept);
      bases_[base] = whole == nullptr ? unread_ + unread.at[base] + kept : whole + t * g.result(g.outputs[r]).bytes;
    }
    for (int i = Loop::carried_count; i < Loop::carried_count + Loop::each_count; ++i)
      bases_[plan::leaf_base + i] = arguments_[i] + t * g.leaf_op(i).results[0].bytes;
    draw(t);
  }
  void evaluate(int t, const state& now, const state& next) {
    place(t, now, next);
    body::run(bases_, 0, turn, threads_);
    body::write_late(bases_, [](int base) { return base < scan_plan::gradient_base; });
  }
  /// Recomputes the values of iteration t that its backward pass needs.
  void record(int t, const state& now, const state& next) {
    place(t, now, next);
    for (int i = 0; i < turn; ++i) {
      if (scan_plan::used.needed[i]) body::run(bases_, i, i + 1, threads_);
    }
  }
  /// Recomputes the iterations of a segment. Each iteration stores the values that its backward pass reads, and the
  /// carried values for the next iteration.
  void record(const reversal::action& a, state now) {
    entered_ = now;
    recorded_begin_ = a.from;
    recorded_end_ = a.to;
    for (int t = a.from; t < a.to; ++t) {
      const state next = t + 1 == a.to ? other_than(now) : kept_state(t + 1, other_than(now));
      bases_[plan::kept_base] = kept_step(t);
      record(t, now, next);
      body::write_late(bases_, [](int base) { return base < scan_plan::gradient_base; });
      now = next;
    }
    left_ = now;
  }
  void pull_back_recorded(int t) {
    bases_[plan::kept_base] = kept_step(t);
    place(t, t == recorded_begin_ ? entered_ : kept_state(t, entered_),
          t + 1 == recorded_end_ ? left_ : kept_state(t + 1, entered_));
    pull_back(t);
  }
  /// Evaluates the iterations of an action, beginning with the carried values `now`. Returns the addresses of the
  /// carried values afterwards. They lie in a snapshot, in workspace, or in the results of the scan.
  state advance(const reversal::action& a, state now) {
    for (int t = a.from; t < a.to; ++t) {
      state next = other_than(now);
      if (t + 1 == steps && !Backward) next = last_state(now);
      else if (t + 1 == a.to && a.slot != reversal::none && (Backward || kept_ != nullptr)) next = snapshot(a.slot);
      evaluate(t, now, next);
      now = next;
    }
    return now;
  }

  /// Computes the gradients of iteration t, which was placed and evaluated before.
  void pull_back(int t) {
    state next = state_at(pulls_ + t % 2 * scan_plan::state_bytes);
    for (int k = 0; k < Loop::carried_count; ++k) {
      if (t == 0 && gradients_[k] != nullptr) next.at[k] = gradients_[k];
      bases_[scan_plan::gradient_base + k] = next.at[k];
    }
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] == graph::none) continue;
      std::byte* const whole = cotangents_[r];
      bases_[plan::leaf_base + g.cotangents[r]] = r < Loop::carried_count ? pulled_.at[r]
                                                  : whole == nothing_     ? zeros_
                                                                          : whole + t * g.result(g.outputs[r]).bytes;
    }
    for (int i = Loop::carried_count; i < of::arguments; ++i) {
      std::byte* const whole = gradients_[i];
      const bool of_step = i < Loop::carried_count + Loop::each_count;
      const int base = scan_plan::gradient_base + i;
      bases_[base] = whole == nullptr ? unread_ + unread.at[base]
                     : scan_plan::open_sums.at[i] != graph::none
                         ? open_ + scan_plan::open_sums.at[i]
                         : whole + (of_step ? t * g.leaf_op(i).results[0].bytes : 0);
    }
    for (int i = turn; i < scan_plan::f.step_count; ++i) {
      const int leaf = scan_plan::only_for.of[i];
      if (leaf == graph::none || gradients_[leaf] != nullptr) body::run(bases_, i, i + 1, threads_);
    }
    body::write_late(bases_, [](int base) { return base >= scan_plan::gradient_base; });
    for (int k = 0; k < Loop::carried_count; ++k) {
      const bool some = scan_plan::compiled::gradient.gradient[k] != graph::none;
      if (!some) std::memset(next.at[k], 0, static_cast<std::size_t>(carried[k].bytes));
    }
    pulled_ = next;
    if (t % section_terms == 0) end_section();
  }
  /// Adds the sums of the open section to the total gradients, and begins a new section.
  void end_section() const {
    using real = typename scan_plan::compiled::real;
    for (int i = Loop::carried_count; i < of::arguments; ++i) {
      if (gradients_[i] == nullptr || scan_plan::open_sums.at[i] == graph::none) continue;
      auto* const total = reinterpret_cast<real*>(gradients_[i]);
      auto* const open = reinterpret_cast<real*>(open_ + scan_plan::open_sums.at[i]);
      const std::int64_t n = g.leaf_op(i).results[0].count;
      kernel::shares{4 * 40 * n, n, kernel::lanes<real>::width}(threads_, [=](range own) {
        kernel::join_columns<kernel::adding>(open + own.begin, total + own.begin, own.end - own.begin);
      });
    }
  }
  /// Gives the gradient of an argument its first value. A sum continues from the earlier sum. If there is none, the
  /// sum begins with -0, because adding any number to -0 gives exactly this number. An argument without a gradient
  /// gets 0.
  template <int Leaf>
  void begin_gradient() {
    if constexpr (of::wanted.by_leaf[Leaf]) {
      constexpr bool none = scan_plan::compiled::gradient.gradient[Leaf] == graph::none,
                     sums = of::summed.by_leaf[Leaf];
      const graph::result_info& made = graph::scan_operations<Loop, Target>::gradient_of(Leaf);
      using real = typename scan_plan::compiled::real;
      using number = stored_as<g.leaf_op(Leaf).results[0].as_float().element.type, real>;
      std::byte* const at = gradients_[Leaf];
      if (at == nullptr || !(sums || none)) return;
      if (!sums || so_far_[Leaf] == nothing_)
        std::fill_n(reinterpret_cast<number*>(at), made.count, static_cast<number>(none ? real{0} : -real{0}));
      else if (so_far_[Leaf] != at) std::memcpy(at, so_far_[Leaf], static_cast<std::size_t>(made.bytes));
      if constexpr (scan_plan::open_sums.at[Leaf] != graph::none)
        std::fill_n(reinterpret_cast<real*>(open_ + scan_plan::open_sums.at[Leaf]), made.count, -real{0});
    }
  }
  template <int... Leaf>
  void begin_gradients(std::integer_sequence<int, Leaf...>) {
    (begin_gradient<Leaf>(), ...);
  }

  /// Makes random operations draw, in iteration t, the numbers that the same operation of `Name.t` draws outside of a
  /// scan.
  void draw([[maybe_unused]] int t) {
    if constexpr (key_count > 0) {
      std::size_t n = 0;
      for (int i = of::first_leaf; i < of::arguments; ++i) {
        if (g.leaf_op(i).what != graph::role::random) continue;
        random_stream& stream = streams_[n++] = *reinterpret_cast<const random_stream*>(arguments_[i]);
        bases_[plan::leaf_base + i] = reinterpret_cast<std::byte*>(&stream);
        if (g.is_absolute(i)) continue;
        char digits[16];
        const char* const end = std::to_chars(digits, digits + sizeof digits, t).ptr;
        const std::string_view behind = g.name(g.leaves[i]).substr(std::string_view(Loop::name).size());
        stream.operation = hash64_of(".", stream.operation);
        stream.operation = hash64_of(std::string_view(digits, end), stream.operation);
        stream.operation = hash64_of(behind, stream.operation);
      }
    }
  }
  static constexpr std::size_t key_count = [] {
    std::size_t n = 0;
    for (int i = 0; i < of::arguments; ++i) n += g.leaf_op(i).what == graph::role::random ? 1 : 0;
    return n;
  }();

  int threads_;
  std::byte* results_[g.output_count] = {};
  std::byte* cotangents_[g.output_count] = {};
  std::byte* gradients_[of::arguments] = {};
  std::byte* arguments_[of::arguments] = {};
  std::byte* so_far_[of::arguments] = {};
  std::byte *nothing_ = nullptr, *kept_ = nullptr;
  std::byte *states_, *snapshots_, *pulls_, *unread_, *zeros_, *open_;
  std::byte* bases_[scan_plan::base_count] = {};
  state first_, pulled_;  ///< carried values at the beginning of the scan; gradient of the current carried values
  // The recorded iterations, which stored the values that their backward pass reads: the address of these values, the
  // range of the iterations, the state before the first of them, and the state after the last.
  std::byte* recorded_ = nullptr;
  int recorded_begin_ = 0, recorded_end_ = 0;
  state entered_, left_;
  std::array<random_stream, key_count> streams_;
};
}  // namespace detail

template <class Loop, class Target>
template <bool Backward>
void scan_hooks<Loop, Target>::run(const void*, void* const* operands, int threads) {
  detail::loop_runner<Loop, Target, Backward> runner(operands, threads);
  if constexpr (Backward) runner.backward();
  else runner.forward();
}

}  // namespace cairn
