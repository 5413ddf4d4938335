// Updates inside the training step. The new values of a parameter and of its moments are computed by operations of the
// schedule. Each update comes as soon as the gradient is complete and no later value reads the parameter. A gradient
// therefore needs memory only for a short time. It needs none if the update is part of the fused loop that computes the
// gradient. Clipping by the norm is an exception: it needs all gradients first, so all updates come at the end.
#pragma once

#include "cairn/graph/update.hpp"
#include "cairn/plan/model.hpp"
#include "cairn/plan/schedule.hpp"

namespace cairn::plans {

/// Returns upper bounds of the size of the schedule with updates.
template <class Model, class Schedule>
constexpr graphs::sizes size_with_updates(const Schedule& s) {
  using all = graphs::update_operations<Model>;
  graphs::sizes size{.nodes = s.node_count + 1 + all::rules.numbers, .arguments = s.argument_count + 1};
  for (int i = 0; i < Model::graph.leaf_count; ++i) {
    if (Model::rules.of[i] == none) continue;
    size.nodes += 1 + 2 * all::rule(i).moments + (all::rounds ? lang::stochastic_argument_count : 0);
    size.arguments += all::arguments(i);
    size.updates += 1 + all::rule(i).moments;
    if (!all::is_whole(i)) continue;
    size.nodes += all::whole_rule_of_leaf(i)->node_count;
    size.arguments += all::whole_rule_of_leaf(i)->argument_count;
  }
  return size;
}

namespace detail {
template <graphs::sizes Size, class Model, class Schedule>
struct update_writer {
  using all = graphs::update_operations<Model>;
  static constexpr int nodes = Schedule::capacity;
  static constexpr bool updates_at_end = Model::purpose::updates_parameters && Model::purpose::keeps_gradients;
  static constexpr const auto& g = Model::graph;
  const Schedule& s;
  typename Schedule::template resized<Size.nodes, Size.arguments, Size.updates + 1> out{};
  int new_index[nodes + 1] = {};
  /// true for an updated parameter, and for a value that may be read in place from one
  bool shows_parameter[nodes] = {};
  int last_reader[nodes] = {};  ///< by updated parameter: the last value that reads it
  /// lists of leaves, by the value after which their update can come
  int next_leaf[Model::graph.leaf_count + 1] = {}, first_leaf[nodes + 1] = {};

  constexpr bool is_updated(int leaf) const { return Model::rules.of[leaf] != none && s.gradient[leaf] != none; }

  constexpr void note_read(int a, int by) {
    if (!shows_parameter[a]) return;
    last_reader[a] = by;
    for (int i = 0; i < s.op(a).argument_count; ++i) note_read(s.argument(a, i), by);
  }
  constexpr void find_last_reads() {
    for (int i = 0; i < g.leaf_count; ++i) {
      if (is_updated(i)) shows_parameter[s.leaf_value[i]] = true;
    }
    for (int v = 0; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      if (n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = s.arguments[n.first + i];
        if (!shows_parameter[a]) continue;
        note_read(a, v);
        shows_parameter[v] |= n.op->what == graphs::role::view || n.op->what == graphs::role::map || n.op->made.joins;
      }
    }
  }
  /// Finds the value after which each update comes. An update comes after the last result of an operation, and never in
  /// the forward pass.
  constexpr void find_update_points() {
    for (int& leaf : first_leaf) leaf = none;
    for (int i = g.leaf_count; i-- > 0;) {
      if (!is_updated(i)) continue;
      int at = std::max({s.gradient[i], last_reader[s.leaf_value[i]], s.turn});
      if (updates_at_end || at >= s.node_count) at = s.node_count;
      else at = s.head(at) + s.op(at).result_count - 1;
      next_leaf[i] = first_leaf[at];
      first_leaf[at] = i;
    }
  }

  constexpr void copy(int v) {
    const graphs::node& n = s.nodes[v];
    const int at = new_index[v] = out.node_count++;
    out.nodes[at] = n;
    if (n.result_index > 0) {
      out.nodes[at].first = out.nodes[at - 1].first;
    } else {
      out.nodes[at].first = out.argument_count;
      for (int i = 0; i < n.op->argument_count; ++i)
        out.arguments[out.argument_count++] = new_index[s.arguments[n.first + i]];
    }
    out.stored[at] = s.stored[v];
    out.recomputes[at] = s.recomputes[v] == none ? none : new_index[s.recomputes[v]];
    out.origin[at] = s.origin[v];
    out.segment[at] = s.segment[v];
  }
  constexpr int append(const graphs::operation& op, const graphs::result_info* made, int like) {
    const int at = out.node_count++;
    out.nodes[at] = s.nodes[like];
    out.nodes[at].op = &op;
    out.nodes[at].result = made;
    out.nodes[at].first = out.argument_count;
    out.nodes[at].result_index = 0;
    out.recomputes[at] = none;
    out.origin[at] = s.origin[like];
    return at;
  }
  constexpr void append_numbers() {
    out.first_number = out.node_count;
    for (int k = 0; k < all::rules.numbers; ++k) append(all::rule_number, all::rule_number.results, 0);
    out.number_count = all::rules.numbers;
  }
  /// Appends the values of a rule of whole tensors. They are values as all others, and the last ones are carried to the
  /// next training step.
  constexpr void append_whole_update(int leaf, const graphs::whole_rule& whole) {
    const graphs::rule_facts& rule = all::rule(leaf);
    const int gradient_value = s.gradient[leaf];
    int placed[all::most_whole_nodes + 1] = {new_index[s.leaf_value[leaf]], new_index[gradient_value]};
    int next = 2;
    for (int k = 0; k < rule.numbers; ++k) placed[next++] = out.first_number + rule.first_number + k;
    for (int k = 0; k < whole.moment_count; ++k)
      placed[next++] = append(whole.moments[k], whole.moments[k].results, gradient_value);
    if (all::clips) placed[next++] = out.first_number + out.number_count - 1;
    for (int v = next; v < whole.node_count; ++v) {
      const graphs::node& n = whole.nodes[v];
      const graphs::operation* op = n.op;
      for (int r = 0; r <= whole.moment_count; ++r) {
        if (whole.results[r] == v) op = whole.last + r;
      }
      const int at = placed[v] = append(*op, n.result, gradient_value);
      out.nodes[at].result_index = n.result_index;
      if (n.result_index > 0) out.nodes[at].first = out.nodes[at - 1].first;
      for (int i = 0; n.result_index == 0 && i < op->argument_count; ++i)
        out.arguments[out.argument_count++] = placed[whole.arguments[n.first + i]];
    }
    const int first_moment = 2 + rule.numbers;
    for (int r = 0; r <= whole.moment_count; ++r) {
      const int before = r == 0 ? placed[0] : placed[first_moment + r - 1];
      out.carries[out.carry_count++] = {before, placed[whole.results[r]], leaf, r == 0 ? none : r - 1};
    }
  }
  constexpr void append_update(int leaf) {
    if constexpr (all::most_whole_nodes > 0) {
      if (all::is_whole(leaf)) return append_whole_update(leaf, *all::whole_rule_of_leaf(leaf));
    }
    const auto i = static_cast<std::size_t>(leaf);
    const graphs::rule_facts& rule = all::rule(leaf);
    const int gradient_value = s.gradient[leaf], first_moment = out.node_count;
    for (int k = 0; k < rule.moments; ++k) append(all::moments[i], all::moments[i].results, gradient_value);
    const int drawn = out.node_count;
    if (all::rounds) {
      append(all::position_operations[i], all::position_operations[i].results, gradient_value);
      append(all::key_word, all::key_word.results, gradient_value);
      append(all::key_word, all::key_word.results, gradient_value);
    }
    const int made = out.node_count, arguments = out.argument_count;
    for (int r = 0; r < all::updates[i].result_count; ++r) {
      out.nodes[append(all::updates[i], all::updates[i].results + r, gradient_value)].result_index = r;
    }
    const int before = new_index[s.leaf_value[leaf]];
    out.arguments[out.argument_count++] = before;
    out.arguments[out.argument_count++] = new_index[gradient_value];
    for (int k = 0; k < rule.numbers; ++k)
      out.arguments[out.argument_count++] = out.first_number + rule.first_number + k;
    for (int k = 0; k < rule.moments; ++k) out.arguments[out.argument_count++] = first_moment + k;
    if (all::clips) out.arguments[out.argument_count++] = out.first_number + out.number_count - 1;
    for (int k = drawn; k < made; ++k) out.arguments[out.argument_count++] = k;
    out.nodes[made].first = arguments;
    out.carries[out.carry_count++] = {before, made, leaf, none, all::rounds ? drawn + 1 : none};
    for (int k = 0; k < rule.moments; ++k) out.carries[out.carry_count++] = {first_moment + k, made + 1 + k, leaf, k};
  }

  constexpr void copy_tables() {
    const auto at = [&](int v) { return v == none ? none : new_index[v]; };
    out.turn = s.turn;
    out.updates_apart = Model::purpose::division.shards_moments;
    for (int i = 0; i <= g.leaf_count; ++i) {
      out.leaf_value[i] = at(s.leaf_value[i]);
      out.earlier[i] = at(s.earlier[i]);
      out.gradient[i] = is_updated(i) && !updates_at_end ? none : at(s.gradient[i]);
    }
    for (int i = 0; i < g.tag_count; ++i) out.tagged[i] = at(s.tagged[i]);
    for (int i = 0; i < s.output_count; ++i) out.outputs[out.output_count++] = at(s.outputs[i]);
    for (int i = 0; i < s.segment_capacity; ++i)
      out.recomputed[i] = {s.recomputed[i].operations, s.recomputed[i].flops};
  }
  constexpr void write() {
    find_last_reads();
    find_update_points();
    for (int v = 0; v <= s.node_count; ++v) {
      if (v == s.turn) append_numbers();
      if (v < s.node_count) copy(v);
      else if (updates_at_end) out.first_update = out.node_count;
      for (int leaf = first_leaf[v]; leaf != none; leaf = next_leaf[leaf]) append_update(leaf);
    }
    copy_tables();
  }
};
}  // namespace detail

template <class Model, const auto& Schedule>
inline constexpr auto schedule_with_updates = [] {
  constexpr graphs::sizes size = size_with_updates<Model>(Schedule);
  detail::update_writer<size, Model, std::remove_cvref_t<decltype(Schedule)>> w{Schedule};
  w.write();
  return w.out;
}();

/// Returns the schedule with the updates that the model requests, or the schedule itself if it requests none.
template <class Model, const auto& Schedule>
constexpr const auto& with_updates() {
  if constexpr (!Model::purpose::updates_parameters) return Schedule;
  else return schedule_with_updates<Model, Schedule>;
}

}  // namespace cairn::plans
