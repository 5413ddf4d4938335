// Runs scans. The plan of a scan's body runs once for each iteration, with other bases each time. The backward pass
// recomputes iterations from a few snapshots.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/plan/scan.hpp"
#include "cairn/run/executable.hpp"

#include <charconv>
#include <cstring>
#include <utility>

namespace cairn {

namespace detail {
/// One run of a scan or of its pullback.
template <class Scan, class Target, bool Backward>
class scan_runner {
  using body_plan = plans::body_plan<Scan, Target>;
  using facts = typename body_plan::facts;
  using policy = typename Scan::policy;
  static constexpr const auto& g = body_plan::g;
  static constexpr const auto& figures = body_plan::figures;
  static constexpr const auto& carried = body_plan::carried.of;
  static constexpr int iterations = Scan::iterations, turn = body_plan::f.turn;
  static constexpr auto workspace = body_plan::workspace_parts_of(Backward);
  static constexpr const auto& unused = body_plan::template unused<Backward>;
  static constexpr bool stores = figures.stored_bytes > 0;

  /// The addresses of all carried values, at the beginning or at the end of an iteration, by number. In this file, all
  /// carried values together are called a state.
  struct carried_addresses {
    std::byte* at[body_plan::carried_count + 1] = {};
  };

 public:
  scan_runner(void* const* operands, int threads) : threads_(threads) {
    const auto next = [&operands] { return static_cast<std::byte*>(*operands++); };
    if constexpr (Backward) {
      for (int i = 0; i < facts::arguments; ++i) {
        if (facts::wanted.by_leaf[i]) gradients_[i] = next();
      }
      for (int r = 0; r < g.result_count; ++r) {
        if (g.cotangents[r] != graphs::none) cotangents_[r] = next();
      }
      for (int r = 0; r < g.output_count; ++r) {
        if (graphs::scan_hooks<Scan, Target>::backward_reads(r)) results_[r] = next();
      }
    } else {
      for (std::byte*& result : results_) result = next();
    }
    if (stores) stored_ = next();
    for (std::byte*& argument : arguments_) argument = next();
    if constexpr (Backward) {
      for (int i = 0; i < facts::arguments; ++i) {
        if (facts::summed.by_leaf[i]) earlier_gradients_[i] = next();
      }
    }
    if constexpr (Backward) no_memory_marker_ = next();
    std::byte* next_bytes = next();
    const auto part = [&next_bytes](std::int64_t bytes) { return std::exchange(next_bytes, next_bytes + bytes); };
    bases_[plans::constant_base] = const_cast<std::byte*>(body::model_constants.at);
    bases_[plans::position_base] = graphs::first_position();
    bases_[plans::arena_base] = part(workspace.arena);
    states_ = part(workspace.states);
    snapshots_ = part(workspace.snapshots);
    state_gradients_ = part(workspace.state_gradients);
    bases_[plans::stored_base] = recorded_ = part(workspace.recorded);
    unused_ = part(workspace.unused);
    zeros_ = part(workspace.zeros);
    open_sums_ = part(workspace.sums);
    bases_[plans::workspace_base] = next_bytes;
    for (int i = 0; i < facts::arguments; ++i) bases_[plans::leaf_base + i] = arguments_[i];
    for (int k = 0; k < body_plan::carried_count; ++k) initial_state_.at[k] = arguments_[carried[k].leaf];
  }

  void forward() {
    if constexpr (policy::stores_iterations) {
      recorded_ = stored_;
      recorded_end_ = iterations;
      carried_addresses now = initial_state_;
      for (int t = 0; t < iterations; ++t) {
        const carried_addresses next =
            t + 1 == iterations ? last_state(now) : stored_state(t + 1, state_apart_from(now));
        if (stored_ != nullptr) bases_[plans::stored_base] = stored_values_of(t);
        evaluate(t, now, next);
        now = next;
      }
    } else {
      typename policy::template schedule<iterations> schedule;
      carried_addresses now = initial_state_;
      for (reversal::action a = schedule.next(); a.what == reversal::action::advance; a = schedule.next())
        now = advance(a, now);
    }
  }

  void backward() {
    begin_gradients(std::make_integer_sequence<int, facts::arguments>{});
    std::memset(zeros_, 0, workspace.zeros);
    for (int k = 0; k < Scan::carried_count; ++k)
      current_gradients_.at[k] = cotangents_[k] == no_memory_marker_ ? zeros_ : cotangents_[k];
    if constexpr (policy::stores_iterations) {
      recorded_ = stored_;
      state_before_ = initial_state_;
      state_after_ = last_state(initial_state_);
      recorded_end_ = iterations;
      for (int t = iterations; t-- > 0;) pull_back_recorded(t);
    } else {
      using reversal::action;
      typename policy::template schedule<iterations> schedule;
      action a = schedule.next();
      while (a.what == action::advance) a = schedule.next();  // the forward pass already ran these actions
      carried_addresses now = initial_state_;
      for (a = schedule.next(); a.what != action::done; a = schedule.next()) {
        if (a.what == action::restore) {
          now = a.slot == 0 ? initial_state_ : snapshot(a.slot);
        } else if (a.what == action::advance) {
          now = advance(a, now);
        } else if constexpr (body_plan::records) {
          if (a.what == action::record) record_range(a, now);
          else pull_back_recorded(a.from);
        } else {
          recompute_iteration(a.from, now, state_apart_from(now));
          pull_back(a.from);
        }
      }
    }
  }

 private:
  using body = executable<typename body_plan::compiled>;

  static carried_addresses state_at(std::byte* at) {
    carried_addresses out;
    for (int k = 0; k < body_plan::carried_count; ++k) out.at[k] = at + carried[k].offset;
    return out;
  }
  /// Returns the addresses of a state in workspace that does not overlap `now`. Workspace has room for at most two
  /// states.
  carried_addresses state_apart_from(const carried_addresses& now) const {
    bool first = false;
    for (int k = 0; k < body_plan::carried_count; ++k) first |= now.at[k] == states_ + carried[k].offset;
    return state_at(first ? states_ + body_plan::state_bytes : states_);
  }
  /// Returns the addresses of the carried values after the last iteration. A carried value lies in the result of the
  /// scan if the result is used, and in workspace otherwise.
  carried_addresses last_state(const carried_addresses& before) const {
    carried_addresses out = state_apart_from(before);
    for (int k = 0; k < body_plan::carried_count; ++k) {
      if (results_[carried[k].result] != nullptr) out.at[k] = results_[carried[k].result];
    }
    return out;
  }
  carried_addresses snapshot(int slot) const {
    // Slots 1 to `forward_count` are snapshots that the forward pass stores. The other snapshots lie in the workspace
    // of the backward pass.
    const int number = slot - 1, forward_count = policy::template slots<iterations>;
    return state_at(number < forward_count ? stored_ + number * body_plan::state_bytes
                                           : snapshots_ + (number - forward_count) * body_plan::state_bytes);
  }
  /// Returns the address at which the recorded iteration t stores the values that its backward pass reads. These values
  /// lie behind the stored carried values of all recorded iterations.
  std::byte* stored_values_of(int t) const {
    return recorded_ + (recorded_end_ - recorded_begin_ - 1) * body_plan::carried.stored_state_bytes +
           (t - recorded_begin_) * body_plan::addresses.stored_base_bytes;
  }
  /// Returns the addresses of the carried values before the recorded iteration t. Carried values that are not stored
  /// have their addresses in `others`. The state before the first recorded iteration is not stored here: its addresses
  /// are `state_before_`.
  carried_addresses stored_state(int t, carried_addresses others) const {
    for (int k = 0; k < body_plan::carried_count; ++k) {
      if (recorded_ != nullptr && carried[k].stored_offset != graphs::none)
        others.at[k] =
            recorded_ + (t - recorded_begin_ - 1) * body_plan::carried.stored_state_bytes + carried[k].stored_offset;
    }
    return others;
  }

  /// Makes the body read and write the memory of iteration t. The body reads the carried values at `now` and writes
  /// them to `next`.
  void point_bases_at(int t, const carried_addresses& now, const carried_addresses& next) {
    for (int k = 0; k < body_plan::carried_count; ++k) {
      bases_[plans::leaf_base + carried[k].leaf] = now.at[k];
      bases_[body_plan::first_result_base + carried[k].result] = next.at[k];
    }
    const std::int64_t recorded = Backward && body_plan::records ? t - recorded_begin_ : 0;
    for (int r = Scan::carried_count; r < g.result_count; ++r) {
      std::byte* const all_iterations = results_[r];
      const int base = body_plan::first_result_base + r;
      const std::int64_t recorded_offset =
          unused.offset[base] < unused.recorded_begin ? 0 : recorded * (unused.bytes - unused.recorded_begin);
      bases_[base] = all_iterations == nullptr ? unused_ + unused.offset[base] + recorded_offset
                                               : all_iterations + t * g.result(g.outputs[r]).bytes;
    }
    for (int i = Scan::carried_count; i < Scan::carried_count + Scan::each_count; ++i)
      bases_[plans::leaf_base + i] = arguments_[i] + t * g.leaf_op(i).results[0].bytes;
    set_random_streams(t);
  }
  void evaluate(int t, const carried_addresses& now, const carried_addresses& next) {
    point_bases_at(t, now, next);
    body::run(bases_, 0, turn, threads_);
    body::copy_to_final_addresses(bases_, [](int base) { return base < body_plan::first_gradient_base; });
  }
  /// Recomputes the values of iteration t that its backward pass needs.
  void recompute_iteration(int t, const carried_addresses& now, const carried_addresses& next) {
    point_bases_at(t, now, next);
    for (int i = 0; i < turn; ++i) {
      if (body_plan::used.needed[i]) body::run(bases_, i, i + 1, threads_);
    }
  }
  /// Recomputes the iterations of an action, and records them. Each iteration stores the values that its backward pass
  /// reads, and the carried values for the next iteration.
  void record_range(const reversal::action& a, carried_addresses now) {
    state_before_ = now;
    recorded_begin_ = a.from;
    recorded_end_ = a.to;
    for (int t = a.from; t < a.to; ++t) {
      const carried_addresses next = t + 1 == a.to ? state_apart_from(now) : stored_state(t + 1, state_apart_from(now));
      bases_[plans::stored_base] = stored_values_of(t);
      recompute_iteration(t, now, next);
      body::copy_to_final_addresses(bases_, [](int base) { return base < body_plan::first_gradient_base; });
      now = next;
    }
    state_after_ = now;
  }
  void pull_back_recorded(int t) {
    bases_[plans::stored_base] = stored_values_of(t);
    point_bases_at(t, t == recorded_begin_ ? state_before_ : stored_state(t, state_before_),
                   t + 1 == recorded_end_ ? state_after_ : stored_state(t + 1, state_before_));
    pull_back(t);
  }
  /// Evaluates the iterations of an action, beginning with the carried values `now`. Returns the addresses of the
  /// carried values afterwards. They lie in a snapshot, in workspace, or in the results of the scan.
  carried_addresses advance(const reversal::action& a, carried_addresses now) {
    for (int t = a.from; t < a.to; ++t) {
      carried_addresses next = state_apart_from(now);
      if (t + 1 == iterations && !Backward) next = last_state(now);
      else if (t + 1 == a.to && a.slot != reversal::none && (Backward || stored_ != nullptr)) next = snapshot(a.slot);
      evaluate(t, now, next);
      now = next;
    }
    return now;
  }

  /// Computes the gradients of iteration t, whose bases are set and whose values are computed.
  void pull_back(int t) {
    // There are two buffers. One is read, while the other one is written.
    carried_addresses next = state_at(state_gradients_ + t % 2 * body_plan::state_bytes);
    for (int k = 0; k < Scan::carried_count; ++k) {
      if (t == 0 && gradients_[k] != nullptr) next.at[k] = gradients_[k];
      bases_[body_plan::first_gradient_base + k] = next.at[k];
    }
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] == graphs::none) continue;
      std::byte* const all_iterations = cotangents_[r];
      bases_[plans::leaf_base + g.cotangents[r]] = r < Scan::carried_count ? current_gradients_.at[r]
                                                   : all_iterations == no_memory_marker_
                                                       ? zeros_
                                                       : all_iterations + t * g.result(g.outputs[r]).bytes;
    }
    for (int i = Scan::carried_count; i < facts::arguments; ++i) {
      std::byte* const all_iterations = gradients_[i];
      const bool per_iteration = i < Scan::carried_count + Scan::each_count;
      const int base = body_plan::first_gradient_base + i;
      bases_[base] = all_iterations == nullptr ? unused_ + unused.offset[base]
                     : body_plan::open_sums.at[i] != graphs::none
                         ? open_sums_ + body_plan::open_sums.at[i]
                         : all_iterations + (per_iteration ? t * g.leaf_op(i).results[0].bytes : 0);
    }
    for (int i = turn; i < body_plan::f.step_count; ++i) {
      const int leaf = body_plan::sole_gradient.of[i];
      if (leaf == graphs::none || gradients_[leaf] != nullptr) body::run(bases_, i, i + 1, threads_);
    }
    body::copy_to_final_addresses(bases_, [](int base) { return base >= body_plan::first_gradient_base; });
    for (int k = 0; k < Scan::carried_count; ++k) {
      const bool has_gradient = body_plan::compiled::gradient.gradient[k] != graphs::none;
      if (!has_gradient) std::memset(next.at[k], 0, static_cast<std::size_t>(carried[k].bytes));
    }
    current_gradients_ = next;
    // A section of a sum has at most section_terms iterations, and ends with an iteration whose index is a multiple of
    // section_terms. The last section ends with iteration 0.
    if (t % costs::section_terms == 0) end_section();
  }
  /// Adds the sums of the open section to the total gradients, and begins a new section.
  void end_section() const {
    using real = typename body_plan::compiled::real;
    for (int i = Scan::carried_count; i < facts::arguments; ++i) {
      if (gradients_[i] == nullptr || body_plan::open_sums.at[i] == graphs::none) continue;
      auto* const total = reinterpret_cast<real*>(gradients_[i]);
      auto* const open = reinterpret_cast<real*>(open_sums_ + body_plan::open_sums.at[i]);
      const std::int64_t n = g.leaf_op(i).results[0].count;
      // Four numbers are read or written for each number of a sum. Each counts as 40 operations, as in a fused loop.
      kernels::shares{4 * 40 * n, n, kernels::lanes<real>::width}(threads_, [=](costs::range own) {
        kernels::join_columns<kernels::adding>(open + own.begin, total + own.begin, own.end - own.begin);
      });
    }
  }
  /// Gives the gradient of an argument the value that it has before the first iteration is pulled back.
  /// - A gradient that is summed over iterations starts from the earlier sum, if there is one.
  /// - If there is no earlier sum, the sum starts from -0, because x + -0 is exactly x.
  /// - An argument without a gradient gets the earlier sum, or 0 if there is none.
  template <int Leaf>
  void begin_gradient() {
    if constexpr (facts::wanted.by_leaf[Leaf]) {
      constexpr bool has_none = body_plan::compiled::gradient.gradient[Leaf] == graphs::none,
                     sums = facts::summed.by_leaf[Leaf];
      const graphs::result_info& made = graphs::scan_operations<Scan, Target>::gradient_of(Leaf);
      using real = typename body_plan::compiled::real;
      using number = stored_as<g.leaf_op(Leaf).results[0].as_float().element.type, real>;
      std::byte* const at = gradients_[Leaf];
      if (at == nullptr || !(sums || has_none)) return;
      if (!sums || earlier_gradients_[Leaf] == no_memory_marker_)
        std::fill_n(reinterpret_cast<number*>(at), made.count, static_cast<number>(has_none ? real{0} : -real{0}));
      else if (earlier_gradients_[Leaf] != at)
        std::memcpy(at, earlier_gradients_[Leaf], static_cast<std::size_t>(made.bytes));
      if constexpr (body_plan::open_sums.at[Leaf] != graphs::none)
        std::fill_n(reinterpret_cast<real*>(open_sums_ + body_plan::open_sums.at[Leaf]), made.count, -real{0});
    }
  }
  template <int... Leaf>
  void begin_gradients(std::integer_sequence<int, Leaf...>) {
    (begin_gradient<Leaf>(), ...);
  }

  /// Makes the random operations of iteration t draw the numbers that they would draw in a block `Name.t` of an
  /// unrolled loop. `Name` is the name of the scan. If iterations are groups of rows, group t draws its part of the
  /// numbers of all rows. Numbers that do not belong to rows, for example for weights, are the same in all groups.
  void set_random_streams([[maybe_unused]] int t) {
    if constexpr (random_count > 0) {
      std::size_t n = 0;
      for (int i = facts::first_leaf; i < facts::arguments; ++i) {
        if (g.leaf_op(i).what != graphs::role::random) continue;
        random_stream& stream = streams_[n++] = *reinterpret_cast<const random_stream*>(arguments_[i]);
        bases_[plans::leaf_base + i] = reinterpret_cast<std::byte*>(&stream);
        if constexpr (Scan::cuts_rows) {
          stream.part = draws_for_rows[static_cast<std::size_t>(i)]
                            ? stream.part * iterations + static_cast<std::uint32_t>(t)
                            : 0;
          continue;
        }
        if (g.is_absolute(i)) continue;
        char digits[16];
        const char* const end = std::to_chars(digits, digits + sizeof digits, t).ptr;
        const std::string_view suffix = g.name(g.leaves[i]).substr(std::string_view(Scan::name).size());
        stream.operation = hash64_of(".", stream.operation);
        stream.operation = hash64_of(std::string_view(digits, end), stream.operation);
        stream.operation = hash64_of(suffix, stream.operation);
      }
    }
  }
  /// By leaf: true if iterations are groups of rows and the leaf's random numbers belong to rows.
  static constexpr auto draws_for_rows = [] {
    std::array<bool, facts::arguments + 1> out{};
    if constexpr (Scan::cuts_rows) {
      for (int i = 0; i < facts::arguments; ++i)
        out[static_cast<std::size_t>(i)] = graphs::rows_of_body<Scan, Target>.draws_for_rows(i);
    }
    return out;
  }();
  static constexpr std::size_t random_count = [] {
    std::size_t n = 0;
    for (int i = 0; i < facts::arguments; ++i) n += g.leaf_op(i).what == graphs::role::random ? 1 : 0;
    return n;
  }();

  int threads_;
  std::byte* results_[g.output_count] = {};
  std::byte* cotangents_[g.output_count] = {};
  std::byte* gradients_[facts::arguments] = {};
  std::byte* arguments_[facts::arguments] = {};
  std::byte* earlier_gradients_[facts::arguments] = {};
  std::byte* no_memory_marker_ = nullptr;
  std::byte* stored_ = nullptr;  // what the forward pass stores for the backward pass: snapshots, or all iterations
  std::byte *states_, *snapshots_, *state_gradients_, *unused_, *zeros_, *open_sums_;
  std::byte* bases_[body_plan::base_count] = {};
  carried_addresses initial_state_;      // the carried values at the beginning of the scan
  carried_addresses current_gradients_;  // gradients of the carried values after the iteration that is pulled back next
  // The recorded iterations, which stored the values that their backward pass reads: the address of these values, the
  // range of the iterations, the state before the first of them, and the state after the last. The address is `stored_`
  // if the forward pass recorded all iterations. Otherwise it lies in the workspace of the backward pass.
  std::byte* recorded_ = nullptr;
  int recorded_begin_ = 0, recorded_end_ = 0;
  carried_addresses state_before_, state_after_;
  std::array<random_stream, random_count> streams_;
};
}  // namespace detail

template <class Scan, class Target>
template <bool Backward>
void graphs::scan_hooks<Scan, Target>::run(const void*, void* const* operands, int threads) {
  ::cairn::detail::scan_runner<Scan, Target, Backward> runner(operands, threads);
  if constexpr (Backward) runner.backward();
  else runner.forward();
}

}  // namespace cairn
