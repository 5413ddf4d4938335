// Finds offsets for the results and gradients of an iteration of a scan that are unused outside the plan of the scan's
// body.
#pragma once

#include "cairn/plan/compile.hpp"

#include <utility>

namespace cairn::plans {

/// Offsets in the workspace of the scan, by base, for results and gradients that nothing outside of the body wants. If
/// the plan of the body reads such a result or gradient, it has an offset of its own. Memory that the plan overwrites
/// counts as read. Results and gradients that are only written share offset 0. Results that the backward pass reads lie
/// from `recorded_begin` on. If several iterations are recorded, this last part exists once for each of them.
template <int Bases>
struct unused_offsets {
  std::int64_t offset[Bases] = {}, bytes = 0, recorded_begin = 0;
};

namespace detail {
/// Finds offsets for the unused results and gradients of the scan, or of its pullback.
template <class Plan, bool Back>
struct unused_offset_finder {
  using scan = typename Plan::scan;
  static constexpr const auto& g = Plan::g;
  static constexpr const auto& s = Plan::s;
  static constexpr const auto& f = Plan::f;
  static constexpr const auto& addresses = Plan::addresses;
  static constexpr bool runs_forward =
      !Back || !scan::policy::stores_iterations;  ///< true if forward plan steps run, too
  enum class use : std::uint8_t { none, written, read, read_by_backward };
  unused_offsets<Plan::base_count> out{};
  use of_base[Plan::base_count] = {};

  constexpr void note(int base, use how) { of_base[base] = std::max(of_base[base], how); }

  /// Notes which bases the plan steps write and read. A step that computes one gradient alone does not count for the
  /// base of this gradient: either the gradient is unused and the step is left out, or the gradient is used and lies
  /// elsewhere.
  constexpr void note_steps() {
    for (int i = runs_forward ? 0 : f.turn; i < (Back ? f.step_count : f.turn); ++i) {
      if (Back && Plan::records && !Plan::used.needed[i]) continue;
      const int leaf = i >= f.turn ? Plan::sole_gradient.of[i] : none;
      const int own = leaf != none ? Plan::first_gradient_base + leaf : none;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (const int base = addresses.of[f.members[m]].base; base != own) note(base, use::written);
      }
      for_each_read(s, f, Plan::compiled::loops, i, [&](int v) {
        if (const int base = addresses.of[v].base; base != own)
          note(base, i < f.turn ? use::read : use::read_by_backward);
      });
    }
  }
  constexpr void note_copies() {
    for (int i = 0; i < addresses.copy_count; ++i) {
      const auto& [value, to] = addresses.copies[i];
      const bool back = to.base >= Plan::first_gradient_base;
      if (back ? !Back : !runs_forward) continue;
      note(to.base, use::written);
      note(addresses.of[f.memory_root[value]].base, back ? use::read_by_backward : use::read);
    }
  }

  static constexpr void for_each_result(auto visit) {
    for (int r = scan::carried_count; r < g.result_count; ++r)
      visit(Plan::first_result_base + r, aligned(g.result(g.outputs[r]).bytes));
  }
  static constexpr void for_each_gradient(auto visit) {
    for (int i = scan::carried_count; i < scan::carried_count + scan::each_count; ++i)
      visit(Plan::first_gradient_base + i, aligned(g.leaf_op(i).results[0].bytes));
  }
  constexpr void assign_offsets() {
    const auto together = [&](int base, std::int64_t bytes) {
      if (of_base[base] == use::written) out.bytes = std::max(out.bytes, bytes);
    };
    const auto apart = [&](use which) {
      return [&, which](int base, std::int64_t bytes) {
        if (of_base[base] == which) out.offset[base] = std::exchange(out.bytes, out.bytes + bytes);
      };
    };
    for_each_result(together);
    for_each_result(apart(use::read));
    // may overlap results that only forward plan steps read, because gradients are computed later
    for_each_gradient(together);
    for_each_gradient(apart(use::read_by_backward));
    out.recorded_begin = out.bytes;
    for_each_result(apart(use::read_by_backward));
  }
};
}  // namespace detail

/// Finds offsets for the unused results and gradients of the body plan `Plan` (plan/scan.hpp), for the scan or for its
/// pullback.
template <class Plan, bool Back>
constexpr auto find_unused_offsets() {
  detail::unused_offset_finder<Plan, Back> p;
  p.note_steps();
  p.note_copies();
  p.assign_offsets();
  return p.out;
}

}  // namespace cairn::plans
