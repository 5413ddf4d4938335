// The compiled program as plain data, for reports. The data has no expression types and no kernels.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/check/model.hpp"

#include <span>
#include <utility>

namespace cairn {
template <auto Output, class... Options>
class program;
}  // namespace cairn

namespace cairn::report {

/// A value of a training step. Fields that refer to another table hold an index, or graphs::none.
struct value {
  std::string_view operation;
  graphs::role what;
  shape extents;
  dtype type;
  std::int64_t bytes, flops;
  double number;                       ///< the number, if the value is a constant
  int argument_count, first_argument;  ///< `first_argument` is an index in account::arguments
  int segment;                         ///< the innermost segment around the value; 0: the program outside of segments
  /// `leaf`: the leaf that this value is. `gradient`: the leaf of which this value is the gradient, or a term that the
  /// training step adds to the gradient.
  int leaf = graphs::none, gradient = graphs::none;
  /// the parameter of which this is the new value, or a new moment, after the training step
  int updated = graphs::none;
  int tag = graphs::none;         ///< the first tag of the value
  int recomputes = graphs::none;  ///< the value of the forward pass that this value recomputes
  int recomputed_for;  ///< for a recomputed value: the segment in the backward pass of which it is needed; 0 for others
  int order;           ///< 0 for a value of the model, 1 for a value of a gradient, 2 for a gradient of a gradient
  bool stored;         ///< the value is counted in memory_plan::stored_bytes
  bool in_pieces;      ///< the value has no memory of its own, because its arguments are read in place
  bool converted;      ///< the value is its argument, converted to another type
  bool is_first_result;  ///< the value is the first result of its operation
  // The next three fields are none if no plan step computes the value, as for a leaf. `step` is the plan step that
  // computes the value. `last` is the last plan step that needs its memory, or none if the value has no memory in
  // the arena.
  int step, last;
  std::int64_t offset;  ///< offset in the arena in bytes, or none
};

namespace detail {
/// A segment of the program, with the index of the segment around it. Segment 0 is the program outside of segments,
/// with depth 0.
struct segment_entry {
  int parent, depth;
  std::string_view name;
};
}  // namespace detail

/// A plan step.
struct step {
  std::int64_t live;  ///< bytes of the arena that the step needs: the values that are alive, and the step's workspace
  /// Floating-point operations, and how many of them are recomputed, including recomputed iterations of a scan.
  std::int64_t flops, recomputed_flops;
  std::int64_t read, written;  ///< bytes of the operands that are read, and of the results that are written
  std::int64_t workspace_bytes, workspace_offset;  ///< the step's workspace; the offset is one in the arena
  int segment;
};

/// The account of a program's training step. Its members are views of tables that are compile-time constants.
struct account {
  std::string_view names;
  std::span<const detail::segment_entry> segments;  ///< the first entry is the program outside of segments
  std::span<const segment_plan> plans;              ///< one for each segment, so without the first entry of `segments`
  std::span<const graphs::leaf> leaves;
  std::span<const graphs::tag> tags;
  std::span<const value> values;   ///< in the order in which they are computed
  std::span<const int> arguments;  ///< indices of values
  std::span<const step> steps;
  int value_turn, step_turn;  ///< index of the first value and of the first plan step of the backward pass
  memory_plan memory;
  flop_counts flops;

  std::string_view name(const auto& named) const {
    return names.substr(static_cast<std::size_t>(named.name), static_cast<std::size_t>(named.name_length));
  }
  const value& operator[](int number) const { return values[static_cast<std::size_t>(number)]; }
  /// Returns the index of argument i of a value.
  int argument(int number, int i) const {
    return arguments[static_cast<std::size_t>((*this)[number].first_argument + i)];
  }
  const detail::segment_entry& segment(int number) const { return segments[static_cast<std::size_t>(number)]; }
  const graphs::leaf& leaf(int number) const { return leaves[static_cast<std::size_t>(number)]; }
  const graphs::tag& tag(int number) const { return tags[static_cast<std::size_t>(number)]; }
  /// Returns the value that a view shows, or the value itself if it is no view.
  int root(int number) const {
    while ((*this)[number].what == graphs::role::view) number = argument(number, 0);
    return number;
  }
  /// Returns the segment at depth `depth` that contains segment `number`, or is that segment. Depth 1 is outermost.
  /// Returns 0 if segment `number` is not as deep.
  int around(int number, int depth) const {
    while (segment(number).depth > depth) number = segment(number).parent;
    return segment(number).depth == depth ? number : 0;
  }
};

namespace detail {
/// Returns the bytes that plan step i reads. Each operand counts once. Constants and values that the plan step itself
/// computes do not count. If a map repeats numbers of its argument, only the bytes of the argument count. `reader[v]`
/// holds the last plan step that read value v, or none.
template <class Compiled>
constexpr std::int64_t bytes_read(int i, int* reader) {
  constexpr const auto& s = Compiled::schedule;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& l = Compiled::loops;
  std::int64_t bytes = 0;
  const auto read = [&](int v, int source) {
    if (graphs::is_constant(s.op(source).what) || f.step_of[source] == i) return;
    if (std::exchange(reader[source], i) == i) return;
    bytes += std::min(s.result(v).bytes, s.result(source).bytes);
  };
  for (int k = l.of[i].input_begin; k < l.of[i].input_end; ++k) read(l.inputs[k].value, l.inputs[k].source);
  const int kernel = f.steps[i].kernel;
  for (int k = 0; kernel != graphs::none && k < s.op(kernel).argument_count; ++k)
    read(s.argument(kernel, k), f.memory_root[s.argument(kernel, k)]);
  return bytes;
}

template <class Compiled>
inline constexpr auto tables = [] {
  constexpr const auto& g = Compiled::graph;
  constexpr const auto& s = Compiled::schedule;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& in = Compiled::segments;
  struct {
    char names[g.character_count + 1] = {};
    segment_entry segments[in.count] = {};
    graphs::leaf leaves[g.leaf_count + 1] = {};
    graphs::tag tags[g.tag_count + 1] = {};
    value values[s.node_count] = {};
    int arguments[s.argument_count + 1] = {};
    step steps[f.step_count + 1] = {};
  } out;
  int reader[s.node_count];
  for (int& step : reader) step = graphs::none;
  std::copy_n(g.names, g.character_count, out.names);
  for (int i = 0; i < in.count; ++i) {
    out.segments[i] = {in.all[i].parent, in.all[i].depth, cairn::detail::segment_names<Compiled>::of(i)};
  }
  std::copy_n(g.leaves, g.leaf_count, out.leaves);
  std::copy_n(g.tags, g.tag_count, out.tags);
  std::copy_n(s.arguments, s.argument_count, out.arguments);
  for (int v = 0; v < s.node_count; ++v) {
    const graphs::node& n = s.nodes[v];
    value& made = out.values[v];
    made.operation = n.op->name;
    made.what = n.op->what;
    made.extents = n.result->extents;
    made.type = n.result->element.type;
    made.bytes = n.result->bytes;
    made.flops = n.result_index == 0 ? n.op->flops : 0;
    made.number = n.op->value;
    made.argument_count = n.op->argument_count;
    made.first_argument = n.first;
    made.segment = in.of[s.origin[v]];
    made.recomputes = s.recomputes[v];
    made.order = n.order;
    made.recomputed_for = s.recomputes[v] != graphs::none ? s.segment[v] : 0;
    made.in_pieces = f.in_pieces[v];
    made.converted = n.op->converts;
    made.is_first_result = n.result_index == 0;
    made.step = f.step_of[v];
    const bool held = made.step != graphs::none && f.external[v] && !Compiled::addresses.outside_arena[v];
    made.last = held ? Compiled::ranges.last[v] : graphs::none;
    made.offset = held ? Compiled::layout.of[v].offset : graphs::none;
    made.stored = v < s.turn && f.step_of[v] != graphs::none && Compiled::ranges.last[v] >= f.turn &&
                  !Compiled::addresses.output[v] && !n.result->in_user_memory;
  }
  for (int i = g.tag_count; i-- > 0;) {
    if (s.tagged[i] != graphs::none) out.values[s.tagged[i]].tag = i;
  }
  for (int i = 0; i < s.carry_count; ++i) out.values[s.carries[i].after].updated = s.carries[i].leaf;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (s.leaf_value[i] != graphs::none) out.values[s.leaf_value[i]].leaf = i;
    const int total = s.gradient[i];
    if (total == graphs::none) continue;
    out.values[total].gradient = i;
    for (int k = 0; s.earlier[i] != graphs::none && k < s.op(total).argument_count; ++k)
      out.values[s.root(s.argument(total, k))].gradient = i;
  }
  for (int i = 0; i < f.step_count; ++i) {
    step& made = out.steps[i];
    made.live = Compiled::slots.bytes_at_step[i];
    made.segment = in.of[s.origin[f.members[f.steps[i].loop_begin]]];
    made.workspace_bytes = plans::aligned(plans::workspace_of(s, f.steps[i], Compiled::threads));
    made.workspace_offset = Compiled::layout.workspace[i];
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int v = f.members[m];
      made.flops += out.values[v].flops;
      if (s.nodes[v].result_index == 0) made.recomputed_flops += s.work_of(v).recomputed;
      if (f.external[v]) made.written += s.result(v).bytes;
    }
    made.read = bytes_read<Compiled>(i, reader);
  }
  return out;
}();

template <class Compiled>
account account_from() {
  static constexpr const auto& t = tables<Compiled>;
  const auto counted = [](const auto& table, int count) { return std::span(table, static_cast<std::size_t>(count)); };
  constexpr int leaves = Compiled::graph.leaf_count, tags = Compiled::graph.tag_count,
                steps = Compiled::steps.step_count;
  constexpr int value_turn = Compiled::schedule.turn, step_turn = Compiled::steps.turn;
  return {.names = t.names,
          .segments = t.segments,
          .plans = cairn::detail::segments_in<Compiled>,
          .leaves = counted(t.leaves, leaves),
          .tags = counted(t.tags, tags),
          .values = t.values,
          .arguments = t.arguments,
          .steps = counted(t.steps, steps),
          .value_turn = value_turn,
          .step_turn = step_turn,
          .memory = cairn::detail::memory_in<Compiled>,
          .flops = cairn::detail::flops_in<Compiled>};
}
template <class Program>
struct compiled_by;
template <auto Output, class... Options>
struct compiled_by<program<Output, Options...>> {
  using type = cairn::detail::compiled_of<Output, true, Options...>;
};
}  // namespace detail

/// Returns the account of a program, or an empty account if a mistake in the program was reported.
template <class Program>
account account_of() {
  if constexpr (std::same_as<decltype(Program::memory()), memory_plan>)
    return detail::account_from<typename detail::compiled_by<Program>::type>();
  else return {};
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
