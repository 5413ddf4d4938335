// A table of the numbers of a program that outlive a training step. The table has the same type for all models. The
// code for files (cairn/file/saving.hpp) reads the table to save a program, and to resume training from a file.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/use.hpp"
#include "cairn/run/arena.hpp"

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

namespace cairn::detail {

/// One tensor that a program or predictor keeps between training steps: a parameter, a state, or a moment of a
/// parameter.
struct kept_tensor {
  std::string_view name;    ///< name of the parameter or state
  std::string_view moment;  ///< name of the moment; empty for a parameter or state
  shape extents;
  dtype type;  ///< bf16, or the type of the program's real numbers
  plans::address at;
};

/// The kept tensors of a program or predictor, and their memory. The type is the same for all models.
struct kept_run {
  std::span<const kept_tensor> tensors;
  std::byte* const* bases;
  std::size_t real_bytes;       ///< bytes of one real number of the program, a float or a double
  training_position* position;  ///< null for a predictor, which does not train

  /// Returns the program's own copy of a moment's name, which lives as long as the process. Returns an empty name if
  /// no update rule keeps such a moment.
  static constexpr std::string_view moment_in(std::span<const kept_tensor> tensors, std::string_view name) {
    for (const kept_tensor& one : tensors) {
      if (one.moment == name) return one.moment;
    }
    return {};
  }
  std::byte* at(const kept_tensor& one) const { return bases[one.at.base] + one.at.offset; }
  std::size_t count(const kept_tensor& one) const { return static_cast<std::size_t>(one.extents.count()); }
  std::size_t bytes(const kept_tensor& one) const {
    return count(one) * (one.type == dtype::bf16 ? sizeof(bf16) : real_bytes);
  }
};

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
                  {plans::leaf_base + i, 0}};
  }
  for (int i = 0; i < s.carry_count; ++i) {
    const auto [before, after, leaf, moment, key] = s.carries[i];
    if (moment != graphs::none)
      out[n++] = {name_of(leaf),
                  graphs::rules_of<typename Compiled::model>.all[Compiled::model::rules.of[leaf]].moment_names[moment],
                  g.leaf_op(leaf).results[0].extents, dtype::real, Compiled::layout.of[before]};
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
  if constexpr (index_of_kept<Compiled>(Name, Moment) < kept_tensors<Compiled>.size()) return sound{};
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

}  // namespace cairn::detail
