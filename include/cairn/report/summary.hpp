// Shows the layers of a program as a table: their results, their parameters, and the update rule of each parameter.
#pragma once

#include "cairn/base/type_name.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/print.hpp"
#include "cairn/report/stream.hpp"
#include "cairn/report/tables.hpp"
#include "cairn/run/program.hpp"

#include <map>
#include <sstream>

namespace cairn::report {

namespace detail {
std::string text_of(const auto&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

/// A parameter or a state. `name` is its name within its layer, and `trained` says how it is trained.
struct leaf_summary {
  std::string name, shape, trained;
  std::int64_t numbers, bytes;
  friend bool operator==(const leaf_summary&, const leaf_summary&) = default;
};
/// A layer: the parameters and states that have the same name before the last dot. `count` is the number of equal
/// layers with names that differ only in numbers.
struct layer_summary {
  std::string name, result;
  std::vector<leaf_summary> leaves;
  int count = 1;
};

/// Returns the common form of two names, with * in place of numbers that differ. Returns an empty text if the names
/// differ in more than numbers.
inline std::string common_name(std::string_view a, std::string_view b) {
  const auto take_number = [](std::string_view& text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789*"), text.size());
    const std::string_view number = text.substr(0, end);
    text.remove_prefix(end);
    return number;
  };
  std::string common;
  while (!a.empty() && !b.empty()) {
    const std::string_view first = take_number(a), second = take_number(b);
    if (first.empty() != second.empty()) return {};
    if (first.empty() && a[0] != b[0]) return {};
    if (!first.empty()) {
      common += first == second ? first : "*";
    } else {
      common += a[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && b.empty() ? common : "";
}

/// Returns what the column "trained" says about leaf i.
template <class Compiled>
std::string trained_by(int i) {
  using model = typename Compiled::model;
  const graphs::operation& op = Compiled::graph.leaf_op(i);
  if (!op.trainable) return Compiled::graph.leaves[i].next_value != graphs::none ? "state" : "frozen";
  if (!model::chosen.trained[i]) return "frozen";
  return model::rules.of[i] == graphs::none ? "yes" : text_of("rule ", model::rules.of[i] + 1);
}

/// Returns for each value of a graph whether it is computed only from parameters and constants.
template <const auto& Graph>
std::vector<bool> made_of_parameters() {
  std::vector<bool> out(static_cast<std::size_t>(Graph.node_count));
  for (int v = 0; v < Graph.node_count; ++v) {
    const graphs::operation& op = Graph.op(v);
    bool all = op.what == graphs::role::parameter || graphs::is_constant(op.what) || op.argument_count > 0;
    for (int k = 0; k < op.argument_count; ++k) all &= out[static_cast<std::size_t>(Graph.argument(v, k))];
    out[static_cast<std::size_t>(v)] = all;
  }
  return out;
}
/// Returns the first value that is computed from a leaf and from something that is no parameter or constant. Returns
/// none if there is no value of this kind.
template <const auto& Graph>
int first_use(int leaf, const std::vector<bool>& of_parameters) {
  std::vector<bool> carries(of_parameters.size());
  carries[static_cast<std::size_t>(Graph.leaves[leaf].node)] = true;
  for (int v = 0; v < Graph.node_count; ++v) {
    const auto at = static_cast<std::size_t>(v);
    bool reads = false;
    for (int k = 0; k < Graph.op(v).argument_count; ++k)
      reads |= carries[static_cast<std::size_t>(Graph.argument(v, k))];
    if (reads && !of_parameters[at]) return v;
    if (reads) carries[at] = true;
  }
  return graphs::none;
}

template <class Compiled>
std::vector<layer_summary> summed_layers() {
  static constexpr const auto& g = Compiled::graph;
  const std::vector<bool> of_parameters = made_of_parameters<g>();
  std::vector<layer_summary> layers;
  // For each name: the index of the layer, and the latest first use of its parameters.
  std::map<std::string, std::pair<std::size_t, int>> found;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaf_op(i).what != graphs::role::parameter) continue;
    const std::string_view name = g.name(g.leaves[i]);
    const std::size_t dot = std::min(name.rfind('.'), name.size());
    const std::string layer(name.substr(0, dot == name.size() ? 0 : dot));
    const auto [at, is_new] = found.try_emplace(layer, layers.size(), graphs::none);
    if (is_new) layers.push_back({layer, "", {}});
    const graphs::result_info& made = g.leaf_op(i).results[0];
    layer_summary& own = layers[at->second.first];
    own.leaves.push_back({std::string(name.substr(layer.empty() ? 0 : dot + 1)), text_of(extents_of{made.extents}),
                          trained_by<Compiled>(i), made.count, made.bytes});
    at->second.second = std::max(at->second.second, first_use<g>(i, of_parameters));
  }
  std::vector<layer_summary> groups;
  for (layer_summary& own : layers) {
    if (const int use = found[own.name].second; use != graphs::none && !own.name.empty())
      own.result = text_of(extents_of{g.result(use).extents});
    const auto group = std::ranges::find_if(groups, [&](const layer_summary& one) {
      return !common_name(one.name, own.name).empty() && one.result == own.result && one.leaves == own.leaves;
    });
    if (group == groups.end()) {
      groups.push_back(own);
    } else {
      group->name = common_name(group->name, own.name);
      ++group->count;
    }
  }
  return groups;
}

template <class... Names, auto... Rule>
void print_rules(std::ostream& out, lang::rule_list<lang::named_rule<Names, Rule>...>) {
  [[maybe_unused]] int number = 0;
  [[maybe_unused]] const auto print = [&](std::string_view name, std::span<const setting> settings) {
    out << "rule " << ++number << ": " << name;
    for (const setting& one : settings) out << (&one == settings.data() ? " " : ", ") << one.name << ' ' << one.value;
    out << '\n';
  };
  (print(cairn::detail::type_name<std::remove_const_t<decltype(Rule)>>(), lang::rule_settings<Rule>::all), ...);
}
}  // namespace detail

/// Writes the parameters and states of a program by layer. Each row has a shape, the number of numbers, bytes, and how
/// the parameter is trained:
/// - "rule 1" for the first rule of update<...>;
/// - "yes" for a parameter that an optimizer outside the program trains;
/// - "frozen" or "state".
///
/// The shape in the row of a layer is the shape of the layer's result. The result is the value that the last of the
/// layer's parameters is first used for, together with a value that is no parameter.
///
/// Layers that differ only in the numbers in their names share their lines, which show one of these layers. The sums
/// follow, and then the update rules with their settings.
template <class Program>
void summary(std::ostream& out) {
  if constexpr (std::same_as<decltype(Program::memory()), memory_plan>) {
    using compiled = typename detail::compiled_by<Program>::type;
    const detail::plain_numbers guard(out);
    detail::table t({"layer", "", "shape", "numbers", "bytes", "trained"}, 3);
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
    for (const detail::layer_summary& layer : detail::summed_layers<compiled>()) {
      const bool named = !layer.name.empty();
      if (named)
        t.add({layer.name, layer.count > 1 ? std::to_string(layer.count) + " x" : "", layer.result, "", "", ""});
      for (const detail::leaf_summary& leaf : layer.leaves) {
        t.add({(named ? "  " : "") + leaf.name, "", leaf.shape, detail::grouped(leaf.numbers), bytes(leaf.bytes),
               leaf.trained});
        const bool trained = leaf.trained != "frozen" && leaf.trained != "state";
        for (const char* sum : {trained ? "trained" : leaf.trained.c_str(), "in all"}) {
          sums[sum].first += layer.count * leaf.numbers;
          sums[sum].second += layer.count * leaf.bytes;
        }
      }
    }
    for (const char* sum : {"trained", "frozen", "state", "in all"}) {
      if (const auto found = sums.find(sum); found != sums.end())
        t.add({sum, "", "", detail::grouped(found->second.first), bytes(found->second.second), ""});
    }
    t.print(out);
    detail::print_rules(out, typename compiled::model::purpose::updates{});
  }
}

}  // namespace cairn::report
