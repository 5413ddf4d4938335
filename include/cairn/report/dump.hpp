// Writes the results of each pass of the compiler as text: `dump::all<loss>(std::cout)`. Values have two numberings.
// One numbering holds for the graph and its gradient. The other one holds for the schedule, which also contains the
// values that the backward pass recomputes.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/check/model.hpp"
#include "cairn/kernel/kernels.hpp"  // the tables point to the kernels
#include "cairn/report/print.hpp"
#include "cairn/report/stream.hpp"

namespace cairn::dump {

namespace detail {

/// Returns the path of a segment.
template <class Compiled>
std::string_view path_of(int segment) {
  return cairn::detail::segment_names<Compiled>::of(segment);
}

/// Writes the graph of the model as the user wrote it.
template <class Compiled>
void graph(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  const auto& g = Compiled::graph;
  out << "graph: " << g.node_count << " values, " << Compiled::segments.count - 1 << " segments\n";
  for (int v = 0; v < g.node_count; ++v) {
    int leaf = g.leaf_count;
    while (leaf-- > 0 && g.leaves[leaf].node != v) {
    }
    report::detail::print(out << "  ", g, g, v, leaf, path_of<Compiled>(Compiled::segments.of[v]));
  }
  out << "  results:";
  for (int i = 0; i < g.result_count; ++i) out << " %" << g.outputs[i];
  out << '\n';
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].next_value != graphs::none)
      out << "  " << g.name(g.leaves[i]) << " becomes %" << g.leaves[i].next_value << '\n';
  }
}

/// Writes the values that differentiation appends to the graph, and which value is the gradient of which parameter.
template <class Compiled>
void gradient(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  const auto& g = Compiled::graph;
  const auto& d = Compiled::gradient;
  out << "gradient: " << d.node_count - d.turn << " values more\n";
  for (int v = d.turn; v < d.node_count; ++v)
    report::detail::print(out << "  ", g, d, v, graphs::none, path_of<Compiled>(Compiled::segments.of[v]));
  for (int i = 0; i < g.leaf_count; ++i) {
    if (d.gradient[i] != graphs::none) out << "  of " << g.name(g.leaves[i]) << ": %" << d.gradient[i] << '\n';
  }
}

/// Writes the schedule of a training step. It marks the forward values that are stored for the backward pass, and the
/// values that are recomputed.
template <class Compiled>
void schedule(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  const auto& g = Compiled::graph;
  const auto& s = Compiled::schedule;
  out << "schedule: " << s.turn << " values forward, " << s.node_count - s.turn << " backward\n";
  for (int v = 0; v < s.node_count; ++v) {
    if (v == s.turn) out << "  -------- the turn\n";
    int leaf = g.leaf_count;
    while (leaf-- > 0 && s.leaf_value[leaf] != v) {
    }
    const bool computed = s.op(v).argument_count > 0;
    report::detail::print_column(out, 14,
                                 s.recomputes[v] != graphs::none ? "  recomputed"
                                 : computed && s.stored[v]       ? "  stored"
                                                                 : "");
    report::detail::print(out, g, s, v, leaf, path_of<Compiled>(Compiled::segments.of[s.origin[v]]));
  }
}

/// Writes the plan steps: kernels and fused loops. `>` marks values that are written to memory.
template <class Compiled>
void steps(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  const auto& s = Compiled::schedule;
  const auto& f = Compiled::steps;
  const auto& l = Compiled::loops;
  out << "steps: " << f.turn << " forward, " << f.step_count - f.turn << " backward\n";
  for (int i = 0; i < f.step_count; ++i) {
    if (i == f.turn) out << "  -------- the turn\n";
    const plans::plan_step& st = f.steps[i];
    for (int m = st.begin; m < st.end; ++m) {
      const int v = f.members[m];
      if (m > st.begin) report::detail::print_column(out, 15, "");
      else report::detail::print_column(out, 15, "  ", i, i < 10 ? "   " : "  ", st.has_loop() ? "loop" : "kernel");
      const bool again = s.recomputes[v] != graphs::none,
                 shared = m == st.begin && st.has_loop() && l.of[i].same_as != i;
      report::detail::print_column(
          out, again || shared ? 34 : 0, f.external[v] ? "> %" : "  %", v, " = ",
          report::detail::formula_of<std::remove_cvref_t<decltype(Compiled::graph)>, std::remove_cvref_t<decltype(s)>>{
              Compiled::graph, s, v, graphs::none});
      if (again) out << (shared ? "recomputed, " : "recomputed");
      if (shared) out << "code of step " << l.of[i].same_as;
      out << '\n';
    }
  }
}

/// Writes the address and the live range of each value. `|` marks the turn. Gradients have addresses in the memory from
/// which the user reads them.
template <class Compiled>
void memory(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  const auto& s = Compiled::schedule;
  const auto& f = Compiled::steps;
  const auto& a = Compiled::layout;
  const auto row = [&](const plans::address& at, std::int64_t bytes, int first, int last) {
    report::detail::print_column(out, 10, bytes);
    const char* const where = at.base == plans::arena_base       ? "arena + "
                              : at.base == plans::elsewhere_base ? "elsewhere + "
                                                                 : "gradients + ";
    report::detail::print_column(out, 18, where, at.offset);
    for (int i = 0; i < f.step_count; ++i) out << (i == f.turn ? "|" : "") << (first <= i && i <= last ? '#' : '.');
    out << '\n';
  };
  out << "memory: value, bytes, place, steps\n";
  for (int i = 0; i < f.step_count; ++i) {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int v = f.members[m];
      if (!f.external[v]) continue;
      report::detail::print_column(out, 24, "  %", v, ' ', s.op(v).name);
      row(a.of[v], s.result(v).bytes, i, Compiled::ranges.last[v]);
    }
    const std::int64_t workspace_bytes = plans::workspace_of(s, f.steps[i], Compiled::threads);
    if (workspace_bytes == 0) continue;
    report::detail::print_column(out, 24, "  scratch of step ", i);
    row({plans::arena_base, a.workspace[i]}, workspace_bytes, i, i);
  }
}

/// Writes how many bytes a training step needs.
template <class Compiled>
void bytes(std::ostream& out) {
  const report::detail::plain_numbers guard(out);
  constexpr memory_plan m = cairn::detail::memory_in<Compiled>;
  out << "bytes: " << m.stored_bytes << " stored at the turn, " << m.peak_bytes << " in the arena at the peak, "
      << m.parameter_bytes << " of parameters, " << m.gradient_bytes << " of gradients";
  if (m.moment_bytes > 0) out << ", " << m.moment_bytes << " of moments";
  if (m.division_bytes > 0) out << ", " << m.division_bytes << " for sums of parts";
  if (m.elsewhere_bytes > 0) out << ", " << m.elsewhere_bytes << " elsewhere";
  out << '\n';
}

}  // namespace detail

/// Writes all of this for the training step of a loss. The options are the same as for `program`.
template <auto Loss, class... Options>
void all(std::ostream& out) {
  using compiled = cairn::detail::compiled_of<Loss, true, Options...>;
  static_assert(cairn::detail::checked<Loss, Options...>());
  for (const auto part : {detail::graph<compiled>, detail::gradient<compiled>, detail::schedule<compiled>,
                          detail::steps<compiled>, detail::memory<compiled>}) {
    part(out);
    out << '\n';
  }
  detail::bytes<compiled>(out);
}

}  // namespace cairn::dump

#include "cairn/base/macros_back.hpp"
