// The facts of a run, as texts that are saved with the run: its inputs, its data, the types of its numbers, and its
// optimizer. A run that is resumed with other facts is refused.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/hash.hpp"
#include "cairn/base/type_name.hpp"
#include "cairn/file/header.hpp"
#include "cairn/run/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::train::detail {

using cairn::detail::exact, cairn::detail::significant, cairn::detail::text_of;

/// Returns an update rule as a text: its type, its moments, and its numbers. Two rules have different texts if their
/// numbers differ in the first nine digits. The digits behind these depend on how the program was compiled.
template <class Rule>
std::string text_of_rule(const Rule& rule) {
  std::string text = text_of({cairn::detail::type_name<Rule>(), " "});
  for (int i = 0; i < lang::moments_of(rule); ++i) text += text_of({rule.moments[static_cast<std::size_t>(i)], " "});
  text += text_of({"with ", significant(rule.lr, 9)});
  // Every option of the usual rules has an influence on one of these numbers in the second step.
  for (const double number : rule.numbers(1, 2)) text += text_of({", ", significant(number, 9)});
  return text;
}
template <fixed_string... Name, auto... Rule>
std::string text_of_rules(lang::named_rule<lang::name_list<Name...>, Rule...>) {
  std::string text;
  ((text += text_of({Name, " "})), ...);
  ((text += text_of_rule(Rule)), ...);
  return text;
}
template <class... Named>
std::string text_of_rules(lang::rule_list<Named...>) {
  std::string text;
  ((text += text_of({text.empty() ? "" : "; ", text_of_rules(Named{})})), ...);
  return text;
}

/// Returns how many parameters of a model are trained, and a hash of their names, or an empty text if all are trained.
template <class Model>
std::string text_of_trained() {
  int all = 0, trained = 0;
  std::uint64_t hash = cairn::detail::hash64_of({});
  for (int i = 0; i < Model::graph.leaf_count; ++i) {
    if (!Model::graph.leaf_op(i).trainable) continue;
    ++all;
    if (!Model::chosen.trained[i]) continue;
    ++trained;
    hash = cairn::detail::hash64_of("\n", cairn::detail::hash64_of(Model::graph.name(Model::graph.leaves[i]), hash));
  }
  if (trained == all) return {};
  return text_of({"; trains ", exact(trained), " of ", exact(all), " parameters with the hash ", exact(hash)});
}

/// Returns three facts of a program: its inputs with the extents of the whole batch, the types of its numbers, and how
/// it updates its parameters. Returns no facts for a program in which a mistake was reported.
template <auto Output, class... Options>
  requires(!cairn::detail::runs<Output, true, Options...>)
file::metadata facts_of(const program<Output, Options...>&) {
  return {};
}
template <auto Output, class... Options>
file::metadata facts_of(const program<Output, Options...>&) {
  using model = typename cairn::detail::compiled_of<Output, true, Options...>::model;
  std::string inputs;
  for (int i = 0; i < model::graph.leaf_count; ++i) {
    if (model::graph.leaf_op(i).what == graphs::role::input)
      inputs += text_of({inputs.empty() ? "" : ", ", model::graph.name(model::graph.leaves[i]), " ",
                         cairn::detail::text_of(cairn::detail::whole_batch_of(
                             model::graph.leaf_op(i).results[0].extents, model::purpose::division.count()))});
  }
  constexpr lang::division division = model::purpose::division;
  if constexpr (division.divides())
    inputs += text_of({"; ", exact(division.shards), " shards of ", division.varies ? "up to " : "",
                       exact(division.microbatches), " microbatches"});
  using asked = lang::request<Options...>;
  const std::string_view numbers = !asked::mixes              ? cairn::detail::type_name<typename asked::real>()
                                   : asked::rounds_parameters ? "mixed<bf16, stochastic_rounding>"
                                                              : "mixed<bf16>";
  std::string rules = text_of_rules(typename model::purpose::updates{}) + text_of_trained<model>();
  if constexpr (constexpr auto clip = model::purpose::clip; clip.how != lang::clipping::off)
    rules += text_of({"; clip", clip.how == lang::clipping::value ? "_value " : " ", exact(clip.at)});
  return {{"run.inputs", inputs}, {"run.numbers", std::string(numbers)}, {"run.optimizer", rules}};
}

/// Returns `at.description()`, which iterators of data::batches have. If `at` is the iterator of a view, returns the
/// description of the iterator that the view is based on. Returns an empty text if there is no description.
template <class Iterator>
std::string description_of(const Iterator& at) {
  if constexpr (requires { std::string(at.description()); }) return std::string(at.description());
  else if constexpr (requires { at.base(); }) return description_of(at.base());
  else return {};
}

/// Returns one line for each text of `now` that is not saved, or that was saved with another content.
inline std::string lines_of_differences(const file::metadata& saved, const file::metadata& now) {
  const auto in_quotes = [](std::string_view text) { return text_of({"'", file::detail::printable(text), "'"}); };
  std::string lines;
  for (const auto& [name, text] : now) {
    const auto found = saved.find(name);
    if (found != saved.end() && found->second == text) continue;
    const std::string before = found == saved.end() ? "nothing" : in_quotes(found->second);
    lines += text_of({"\n  ", name, ": expected ", before, ", got ", in_quotes(text)});
  }
  return lines;
}

}  // namespace cairn::train::detail
