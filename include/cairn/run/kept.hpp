// A table of the numbers of a program that outlive a training step. The table has the same type for all models. The
// code for files (cairn/file/saving.hpp) reads the table to save a program, and to resume training from a file.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/use.hpp"
#include "cairn/run/kept_tensor.hpp"

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

namespace cairn::detail {

template <class Compiled>
inline constexpr auto kept_tensors = [] {
  constexpr const auto& g = Compiled::graph;
  constexpr const auto& s = Compiled::schedule;
  constexpr auto is_kept = [](int i) { return g.leaf_op(i).what == graphs::role::parameter; };
  constexpr int count = [=] {
    int n = 0;
    for (int i = 0; i < g.leaf_count; ++i) n += is_kept(i);
    for (int i = 0; i < s.carry_count; ++i) n += s.carries[i].moment != graphs::none;
    return n;
  }();
  const auto name_of = [](int i) {
    return std::string_view(names_in<Compiled>.data() + g.leaves[i].name,
                            static_cast<std::size_t>(g.leaves[i].name_length));
  };
  std::array<kept_tensor, static_cast<std::size_t>(count)> out{};
  std::size_t n = 0;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (is_kept(i))
      out[n++] = {name_of(i),
                  {},
                  g.leaf_op(i).results[0].extents,
                  g.leaf_op(i).results[0].element.type,
                  {plans::leaf_base + i, 0},
                  Compiled::model::chosen.trained[i]};
  }
  for (int i = 0; i < s.carry_count; ++i) {
    const auto [before, after, leaf, moment, key] = s.carries[i];
    if (moment != graphs::none)
      out[n++] = {name_of(leaf),
                  graphs::rules_of<typename Compiled::model>.all[Compiled::model::rules.of[leaf]].moment_names[moment],
                  s.result(before).extents,
                  dtype::real,
                  Compiled::layout.of[before],
                  true};
  }
  return out;
}();

/// Returns the index in `kept_tensors` of the moment `moment` of the parameter `name`. An empty `moment` means the
/// parameter itself. If the moment does not exist, returns the number of tensors.
template <class Compiled>
constexpr std::size_t index_of_kept(std::string_view name, std::string_view moment) {
  std::size_t i = 0;
  while (i < kept_tensors<Compiled>.size() &&
         (kept_tensors<Compiled>[i].name != name || kept_tensors<Compiled>[i].moment != moment))
    ++i;
  return i;
}
/// Returns the mistake that the program has no moment `Moment` of the parameter `Name`, or sound.
template <class Compiled, fixed_string Name, fixed_string Moment>
constexpr auto problem_of_moment() {
  constexpr bool is_kept = index_of_kept<Compiled>(Name, Moment) < kept_tensors<Compiled>.size();
  if constexpr (is_kept && !Compiled::model::purpose::division.shards_moments) return sound{};
  else if constexpr (is_kept)
    return mistake<misuse::moments_in_parts, top_scope, about<fact::parameter, Name>, fact::operation<Moment>>{};
  else if constexpr (!std::same_as<decltype(problem_of_parameter<Compiled, Name>()), sound>)
    return problem_of_parameter<Compiled, Name>();
  else return mistake<misuse::no_moment, top_scope, about<fact::parameter, Name>, fact::operation<Moment>>{};
}

/// Saves and loads a program. The template is defined in cairn/file/saving.hpp, which users include if they need it.
/// It is a template only so that the compiler does not look for the definition until a program is saved or loaded.
template <class Path>
struct kept_files;
/// Returns the mistake of saving or loading without a path or without cairn/file/saving.hpp, or sound.
template <class Path>
constexpr auto problem_of_files() {
  if constexpr (!std::convertible_to<const Path&, std::string>)
    return mistake<misuse::no_path, top_scope, fact::given<Path>>{};
  else if constexpr (requires { sizeof(kept_files<Path>); }) return sound{};
  else return mistake<misuse::files_not_included, top_scope, fact::operation<"save, load">>{};
}
/// Returns the mistake of saving with these arguments behind the path, or sound.
template <class Path, class... More>
constexpr auto problem_of_saving() {
  if constexpr (!std::same_as<decltype(problem_of_files<Path>()), sound>) return problem_of_files<Path>();
  else if constexpr (requires(const kept_run& run, const Path& path, const More&... more) {
                       kept_files<Path>::save(run, path, more...);
                     })
    return sound{};
  else return mistake<misuse::no_selection, top_scope, fact::given<More>...>{};
}
/// Returns the mistake of loading with these arguments behind the path, or sound.
template <class Path, class... More>
constexpr auto problem_of_loading() {
  if constexpr (!std::same_as<decltype(problem_of_files<Path>()), sound>) return problem_of_files<Path>();
  else if constexpr (requires(kept_run& run, const Path& path, const More&... more) {
                       kept_files<Path>::load(run, path, more...);
                     })
    return sound{};
  else return mistake<misuse::no_selection, top_scope, fact::given<More>...>{};
}

}  // namespace cairn::detail
