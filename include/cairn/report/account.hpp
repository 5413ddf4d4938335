// What the passes made of a model as plain data, for reports: no expression types, and no kernels.
#pragma once

#include "cairn/check/model.hpp"
#include "cairn/base/macros_aside.hpp"

#include <span>
#include <utility>

namespace cairn {
template <auto Output, class... Options>
class program;
}  // namespace cairn

namespace cairn::report {

/// A value of a step. Numbers of others are one more than these are, and 0 is none.
struct value {
  std::string_view operation;
  ir::role what;
  shape extents;
  dtype type;
  std::int64_t bytes, flops;
  double number;         ///< of a constant
  int arguments, first;  ///< where these begin in account::arguments
  int segment;           ///< the innermost; 0 is the program outside of them
  int leaf, gradient;    ///< the leaf that it is, and that whose gradient it is, or is what a step adds to it
  int updated;           ///< the parameter that it is after the step, or whose moment
  int tag;               ///< its first
  int again;             ///< the value that it is, computed a second time
  int home;              ///< of such a one: the segment whose backward asks for it
  int order;             ///< how many gradients lie between it and what is not one
  bool stored;           ///< counted in memory_plan::stored_bytes
  bool joined;           ///< has no memory of its own: its arguments are read
  bool converted;        ///< is its argument in numbers of another type
  bool result;           ///< the first of its operation
  // Of what a step computes, with that step; else all of these are -1.
  int step, last;       ///< and the last one that needs its memory; -1 where it has none in the arena
  std::int64_t offset;  ///< in the arena, or -1
};

struct segment_entry {
  int parent, depth;
  std::string_view name;
};

struct step {
  std::int64_t live;           ///< bytes of the arena that it needs: the values that live, and scratch
  std::int64_t flops, again;   ///< operations, and those that are executed a second time, in a loop of its own, too
  std::int64_t read, written;  ///< bytes of its operands
  std::int64_t scratch, at;    ///< bytes of its scratch, and where in the arena
  int segment;
};

/// All of a program's step: views of tables that are constants.
struct account {
  std::string_view names;
  std::span<const segment_entry> segments;  ///< the first is the program outside of them
  std::span<const segment_plan> plans;      ///< of all but the first
  std::span<const ir::leaf> leaves;
  std::span<const ir::tag> tags;
  std::span<const value> values;   ///< in the order of their computation
  std::span<const int> arguments;  ///< numbers of values
  std::span<const step> steps;
  int value_turn, step_turn;  ///< where backward begins
  memory_plan memory;
  flop_counts flops;

  std::string_view name(const auto& named) const {
    return names.substr(static_cast<std::size_t>(named.name), static_cast<std::size_t>(named.name_length));
  }
  const value& operator[](int number) const { return values[static_cast<std::size_t>(number)]; }
  /// The number of a value's argument.
  int argument(int number, int i) const { return arguments[static_cast<std::size_t>((*this)[number].first + i)]; }
  const segment_entry& segment(int number) const { return segments[static_cast<std::size_t>(number)]; }
  const ir::leaf& leaf(int number) const { return leaves[static_cast<std::size_t>(number)]; }
  const ir::tag& tag(int number) const { return tags[static_cast<std::size_t>(number)]; }
  /// The value that a view shows.
  int root(int number) const {
    while ((*this)[number].what == ir::role::view) number = argument(number, 0);
    return number;
  }
  /// The segment around this one at a depth, 1 being outermost; 0 where it is not as deep.
  int around(int number, int depth) const {
    while (segment(number).depth > depth) number = segment(number).parent;
    return segment(number).depth == depth ? number : 0;
  }
};

namespace detail {
/// The bytes that step i reads, each operand once: of a map no more than what it is a map of has. `reader` is a table
/// by value of who read it last.
template <class Compiled>
constexpr std::int64_t bytes_read(int i, int* reader) {
  constexpr const auto& s = Compiled::schedule;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& l = Compiled::loops;
  std::int64_t bytes = 0;
  const auto read = [&](int v, int source) {
    if (ir::is_constant(s.op(source).what) || f.step_of[source] == i) return;
    if (std::exchange(reader[source], i + 1) == i + 1) return;
    bytes += std::min(s.made(v).bytes, s.made(source).bytes);
  };
  for (int k = l.of[i].input_begin; k < l.of[i].input_end; ++k) read(l.inputs[k].value, l.inputs[k].source);
  const int kernel = f.steps[i].kernel;
  for (int k = 0; kernel != ir::none && k < s.op(kernel).arguments; ++k)
    read(s.argument(kernel, k), f.root[s.argument(kernel, k)]);
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
    ir::leaf leaves[g.leaf_count + 1] = {};
    ir::tag tags[g.tag_count + 1] = {};
    value values[s.node_count] = {};
    int arguments[s.argument_count + 1] = {};
    step steps[f.step_count + 1] = {};
  } out;
  int reader[s.node_count] = {};
  std::copy_n(g.names, g.character_count, out.names);
  for (int i = 0; i < in.count; ++i) {
    out.segments[i] = {in.all[i].parent, in.all[i].depth, cairn::detail::segment_names<Compiled>::of(i)};
  }
  std::copy_n(g.leaves, g.leaf_count, out.leaves);
  std::copy_n(g.tags, g.tag_count, out.tags);
  std::copy_n(s.arguments, s.argument_count, out.arguments);
  for (int v = 0; v < s.node_count; ++v) {
    const ir::node& n = s.nodes[v];
    value& made = out.values[v];
    made.operation = n.op->name;
    made.what = n.op->what;
    made.extents = n.made->extents;
    made.type = n.made->element.type;
    made.bytes = n.made->bytes;
    made.flops = n.number == 0 ? n.op->flops : 0;
    made.number = n.op->value;
    made.arguments = n.op->arguments;
    made.first = n.first;
    made.segment = in.of[s.origin[v]];
    made.again = s.again[v];
    made.order = n.order;
    made.home = s.again[v] > 0 ? s.segment[v] : 0;
    made.joined = f.joined[v];
    made.converted = n.op->converts;
    made.result = n.number == 0;
    made.step = f.step_of[v];
    const bool held = made.step != ir::none && f.external[v] && !Compiled::places.fixed[v];
    made.last = held ? Compiled::ranges.last[v] : ir::none;
    made.offset = held ? Compiled::layout.of[v].offset : ir::none;
    made.stored = v < s.turn && f.step_of[v] != ir::none && Compiled::ranges.last[v] >= f.turn &&
                  !Compiled::places.output[v] && !n.made->elsewhere;
  }
  for (int i = g.tag_count; i-- > 0;) {
    if (s.tagged[i] != ir::none) out.values[s.tagged[i]].tag = i + 1;
  }
  for (int i = 0; i < s.carry_count; ++i) out.values[s.carries[i].after].updated = s.carries[i].leaf + 1;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (s.leaf_value[i] != ir::none) out.values[s.leaf_value[i]].leaf = i + 1;
    const int total = s.gradient[i];
    if (total == ir::none) continue;
    out.values[total].gradient = i + 1;
    for (int k = 0; s.earlier[i] != 0 && k < s.op(total).arguments; ++k)
      out.values[s.root(s.argument(total, k))].gradient = i + 1;
  }
  for (int i = 0; i < f.step_count; ++i) {
    step& made = out.steps[i];
    made.live = Compiled::slots.live[i];
    made.segment = in.of[s.origin[f.members[f.steps[i].code]]];
    made.scratch = pass::aligned(pass::scratch_of(s, f.steps[i], Compiled::threads));
    made.at = Compiled::layout.scratch[i];
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int v = f.members[m];
      made.flops += out.values[v].flops;
      if (s.nodes[v].number == 0) made.again += s.work_of(v).recomputed;
      if (f.external[v]) made.written += s.made(v).bytes;
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

/// The account of a program; an empty one where a mistake in it was reported.
template <class Program>
account account_of() {
  if constexpr (std::same_as<decltype(Program::memory()), memory_plan>)
    return detail::account_from<typename detail::compiled_by<Program>::type>();
  else return {};
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
