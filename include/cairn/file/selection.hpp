// Which tensors of a program a file holds, and what the file calls them. Files of other libraries often have other
// names, other layouts, or only a part of a model.
#pragma once

#include "cairn/file/errors.hpp"
#include "cairn/file/header.hpp"
#include "cairn/lang/options.hpp"
#include "cairn/run/kept_tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

namespace file {
/// One rule of a table of names. It says what a file calls the parameters and states of a program. `name` is either the
/// name of a tensor, the name of a block, or a pattern with one or more `*`:
/// - `{.name = "encoder", .in_file = "resnet"}` renames the tensor or block "encoder".
/// - `{.name = "", .in_file = "model"}` puts "model." in front of all names. The empty name is the whole program.
/// - `{.name = "encoder", .in_file = ""}` removes "encoder." from the names. The empty name is the whole file.
/// - `{.name = "h.*.mlp.*", .in_file = "layers.*.ffn.*"}` renames all tensors that match. Each `*` stands for any text,
///   as little of it as possible. The first `*` of `in_file` stands for the same text as the first `*` of `name`, and
///   so on.
///
/// With `.transposed = true`, the file has the two axes of the tensor in the other order. Without `in_file`, the file
/// has the tensor under its own name.
struct renamed {
  std::string name;
  std::string in_file = name;
  bool transposed = false;
};
}  // namespace file

/// Says which parameters and states of a program a file holds, and what the file calls them. Moments, step counts and
/// random numbers are not in the selection: `load` leaves them as they are, and `save` does not write them.
///
/// `only` and `except` list names of tensors, names of blocks, and patterns in which `*` stands for any text, for
/// example "encoder" or "*.bias". Each of them must match at least one tensor.
struct selection {
  /// The tensors of the program that are loaded or saved. If the list is empty, all are. If it is not empty, the file
  /// may have more tensors.
  std::vector<std::string> only = {};
  /// The tensors that are left out: tensors of the program, for example of a new head, or tensors that only the file
  /// has, for example moments.
  std::vector<std::string> except = {};
  /// The table of names. The first rule that matches a tensor counts. If no rule matches, the file has the tensor
  /// under its own name. Each rule must be the first match of at least one tensor.
  std::vector<file::renamed> names = {};
};

/// Asks a program to load only a part of a file, for example a part of a model that was trained before. Moments, step
/// counts and random numbers of the program stay as they are. There are four forms.
/// - `partly{"encoder"}` loads the parameters and states of the block "encoder". The file must have all of them.
/// - `partly{"encoder", "resnet"}` loads the block "encoder" from a block that the file calls "resnet".
/// - `partly{"encoder", ""}` loads the block "encoder" from a file that holds only this block.
/// - `partly{}` loads all parameters and states that both the program and the file have.
struct partly {
  std::string block = {};
  std::string in_file = block;
};

/// Thrown if the contents of a file do not fit the program, or if the names of a `selection` do not fit the program.
/// The message names tensors that are missing, that are not expected, or that have another shape. It names at most 20
/// of them, each with the shape that is expected and the shape that was found.
struct mismatch_error : file::file_error {
  using file::file_error::file_error;
};

/// Says what `load` with a `selection` or with `partly` did with each parameter and state of the program, and with each
/// tensor of the file. It does not list moments.
struct load_report {
  struct tensor {
    std::string name;                                ///< in the program; empty if only the file has the tensor
    std::string in_file;                             ///< in the file
    std::vector<std::int64_t> shape, shape_in_file;  ///< empty where there is no tensor
  };

  file::metadata texts;                ///< the texts in the file
  std::vector<tensor> loaded;          ///< tensors that now have the numbers of the file
  std::vector<tensor> not_in_file;     ///< tensors of the program that kept their numbers: the file does not have them
  std::vector<tensor> not_in_program;  ///< tensors of the file that the program does not have
  std::vector<tensor> other_shape;     ///< tensors that kept their numbers: the file has another shape of them
  std::vector<tensor> left_out;        ///< tensors that kept their numbers, although the file has some of their shape

  /// Returns the report as a text with one line for each tensor.
  std::string text() const;
};

namespace detail {

inline std::vector<std::int64_t> extents_of(const shape& s) { return {s.extent, s.extent + s.rank}; }
inline std::string text_of(const std::vector<std::int64_t>& extents) {
  std::string text = "{";
  for (const std::int64_t n : extents) text += text_of({text.size() > 1 ? ", " : "", std::to_string(n)});
  return text += '}';
}

/// A set of names that can be searched.
class sorted_names {
 public:
  explicit sorted_names(std::vector<std::string> names) : names_(std::move(names)) { std::ranges::sort(names_); }

  bool has(std::string_view name) const { return std::ranges::binary_search(names_, name, std::less<>{}); }
  /// Returns true if one of the names is the name of a block around `name`.
  bool has_block_of(std::string_view name) const {
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      if (has(name.substr(0, dot))) return true;
    }
    return false;
  }
  /// Returns the first name that occurs twice, or an empty text.
  std::string_view first_twice() const {
    const auto twice = std::ranges::adjacent_find(names_);
    return twice == names_.end() ? std::string_view() : *twice;
  }

 private:
  std::vector<std::string> names_;
};

/// A tensor, or a part of a selection, that does not fit, and the reason.
struct tensor_fault {
  std::string name, fault;
};

/// Returns true if a pattern with at least one `*` matches the whole name. Calls found(text) with the text of each `*`,
/// from left to right.
bool match_pattern(std::string_view pattern, std::string_view name, auto found) {
  std::size_t star = pattern.find('*');
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  for (pattern.remove_prefix(star + 1);; pattern.remove_prefix(star + 1)) {
    star = pattern.find('*');
    const std::string_view behind = pattern.substr(0, star);
    if (star == pattern.npos) {
      if (!name.ends_with(behind)) return false;
      found(name.substr(0, name.size() - behind.size()));
      return true;
    }
    const std::size_t at = name.find(behind);
    if (at == name.npos) return false;
    found(name.substr(0, at));
    name.remove_prefix(at + behind.size());
  }
}
inline bool is_pattern(std::string_view name) { return name.find('*') != name.npos; }
/// Returns true if `wanted`, which is a name, the name of a block, or a pattern, stands for `name`.
inline bool stands_for(std::string_view wanted, std::string_view name) {
  return is_pattern(wanted) ? match_pattern(wanted, name, [](std::string_view) {}) : lang::is_of_block(wanted, name);
}

/// Returns the name in a file that calls the block `block` `in_file`. Returns an empty text if `name` is not in the
/// block. An empty `block` is the whole program, and an empty `in_file` is the whole file.
inline std::string renamed_in_block(std::string_view block, std::string_view in_file, std::string_view name) {
  if (!block.empty() && !lang::is_of_block(block, name)) return {};
  std::string_view rest = name.substr(block.size());
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return text_of({in_file, !in_file.empty() && !rest.empty() ? "." : "", rest});
}
/// Returns the name that the rule gives to `name`, or an empty text if the rule does not match.
inline std::string renamed_by(const file::renamed& rule, std::string_view name) {
  if (!is_pattern(rule.name)) return renamed_in_block(rule.name, rule.in_file, name);
  std::string result;
  std::string_view rest = rule.in_file;
  const bool matches = match_pattern(rule.name, name, [&](std::string_view text) {
    result += rest.substr(0, rest.find('*'));
    result += text;
    rest.remove_prefix(std::min(rest.size(), rest.find('*') + 1));
  });
  return matches ? result += rest : std::string();
}

/// A parameter or state of a program, and its place in a file.
struct named_leaf {
  const kept_tensor* leaf;
  std::string in_file;
  bool is_transposed = false;
  bool is_selected = true;

  /// Returns the shape that the file should have.
  std::vector<std::int64_t> extents_in_file() const {
    std::vector<std::int64_t> extents = extents_of(leaf->extents);
    if (is_transposed) std::ranges::reverse(extents);
    return extents;
  }
};

/// The parameters and states of a program, with the names that a file has for them, and with what does not fit.
class named_leaves {
 public:
  named_leaves(const kept_run& run, const selection& wanted)
      : accepts_others(!wanted.only.empty()), except_(wanted.except), used_except_(wanted.except.size()) {
    std::vector<char> used_only(wanted.only.size()), used_rules(wanted.names.size());
    check_rules(wanted.names);
    for (const kept_tensor& one : run.tensors) {
      if (!one.is_leaf()) continue;
      named_leaf next = named(one, wanted.names, used_rules);
      const bool is_wanted = note_matches(wanted.only, used_only, one.name) || wanted.only.empty();
      next.is_selected = !leaves_out(one.name) && is_wanted;
      leaves.push_back(std::move(next));
    }
    for (std::size_t i = 0; i < used_rules.size(); ++i) {
      if (used_rules[i] == 0) fault_of_unused("rule", wanted.names[i].name, "a tensor that no rule before it names");
    }
    name_unused("only", wanted.only, used_only);
    name_faults();
  }
  named_leaves(const kept_run& run, const partly& wanted)
      : accepts_others(true), is_required(!(wanted.block.empty() && wanted.in_file.empty())) {
    for (const kept_tensor& one : run.tensors) {
      if (!one.is_leaf()) continue;
      std::string in_file = renamed_in_block(wanted.block, wanted.in_file, one.name);
      const bool is_wanted = !in_file.empty();
      leaves.push_back({&one, is_wanted ? std::move(in_file) : std::string(one.name), false, is_wanted});
    }
  }

  std::vector<named_leaf> leaves;
  std::vector<tensor_fault> faults;
  bool accepts_others;      ///< true if the file may have tensors that the program does not have
  bool is_required = true;  ///< true if the file must have all selected tensors

  /// Returns true if a tensor with this name is left out by name.
  bool leaves_out(std::string_view name) { return note_matches(except_, used_except_, name); }
  /// Notes a fault for each name of `except` for which `leaves_out` was never true.
  void check_except() { name_unused("except", except_, used_except_); }

 private:
  void fault(std::string_view list, std::string_view name, std::string_view expected, std::string_view actual) {
    faults.push_back({text_of({list, " '", name, "'"}), text_of({"expected ", expected, ", got ", actual})});
  }
  static bool note_matches(const std::vector<std::string>& wanted, std::vector<char>& used, std::string_view name) {
    bool any = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!stands_for(wanted[i], name)) continue;
      used[i] = 1;
      any = true;
    }
    return any;
  }
  void name_unused(std::string_view list, const std::vector<std::string>& wanted, const std::vector<char>& used) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (used[i] == 0) fault_of_unused(list, wanted[i], "a tensor of this name");
    }
  }
  /// Notes the fault that `name` matches no tensor. The pattern "*.fc" of names of blocks matches none.
  void fault_of_unused(std::string_view list, const std::string& name, std::string_view expected) {
    const std::string within = name + ".*";
    const auto is_within = [&](const named_leaf& one) { return stands_for(within, one.leaf->name); };
    if (is_pattern(name) && std::ranges::any_of(leaves, is_within))
      fault(list, name, text_of({"a pattern of whole names of tensors, as '", within, "'"}), "names of blocks");
    else fault(list, name, expected, "none");
  }
  void check_rules(const std::vector<file::renamed>& rules) {
    for (const file::renamed& rule : rules) {
      const auto here = std::ranges::count(rule.name, '*'), there = std::ranges::count(rule.in_file, '*');
      if (here != there)
        fault("rule", rule.name, text_of({std::to_string(here), " * in the name in the file"}),
              text_of({std::to_string(there), " in '", rule.in_file, "'"}));
    }
  }
  named_leaf named(const kept_tensor& one, const std::vector<file::renamed>& rules, std::vector<char>& used) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      std::string in_file = renamed_by(rules[i], one.name);
      if (in_file.empty()) continue;
      used[i] = 1;
      return {&one, std::move(in_file), rules[i].transposed};
    }
    return {&one, std::string(one.name)};
  }
  /// Notes the faults of the tensors that are selected.
  void name_faults() {
    std::vector<std::string> names;
    for (const named_leaf& one : leaves) {
      if (!one.is_selected) continue;
      names.push_back(one.in_file);
      if (one.is_transposed && one.leaf->extents.rank != 2)
        faults.push_back({std::string(one.leaf->name),
                          text_of({"expected two axes to transpose, got ", text_of(extents_of(one.leaf->extents))})});
    }
    if (names.empty()) faults.push_back({"the selection", "expected at least one tensor, got none"});
    const sorted_names sorted(std::move(names));
    if (const std::string_view twice = sorted.first_twice(); !twice.empty())
      faults.push_back(
          {std::string(twice), "expected one tensor of the program of this name in the file, got several"});
  }

  std::vector<std::string> except_ = {};
  std::vector<char> used_except_ = {};
};

/// Writes the `rows` rows of a matrix as columns.
template <class Number>
void transpose(const Number* from, std::int64_t rows, std::int64_t columns, Number* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}
/// Calls `use` with a number of the type in which the program stores the tensor.
inline void with_number_of(const kept_run& run, const kept_tensor& entry, auto use) {
  if (entry.type == dtype::bf16) use(bf16{});
  else if (run.real_bytes == sizeof(double)) use(double{});
  else use(float{});
}

/// Throws mismatch_error if there are faults. The message lists at most 20 of them. It leaves out moments of parameters
/// that do not fit either. `before_moments` is how names of moments begin.
inline void refuse_faults(const std::string& path, const std::vector<tensor_fault>& faults, std::string_view expected,
                          std::string_view before_moments) {
  if (faults.empty()) return;
  constexpr int most = 20;
  std::vector<std::string> all;
  for (const tensor_fault& f : faults) all.push_back(f.name);
  const sorted_names named(std::move(all));
  std::string text = "others:";
  int count = 0;
  for (const auto& [name, fault] : faults) {
    if (name.starts_with(before_moments) && named.has_block_of(name.substr(before_moments.size()))) continue;
    if (++count <= most) text += text_of({"\n  ", file::detail::printable(name), ": ", fault});
  }
  if (count > most) text += text_of({"\n  and ", std::to_string(count - most), " more"});
  refuse(mismatch_error(path, expected, text));
}

}  // namespace detail

inline std::string load_report::text() const {
  using detail::text_of;
  std::string all;
  const auto add = [&all](std::string_view what, const std::vector<tensor>& tensors) {
    all += text_of({what, ": ", std::to_string(tensors.size()), "\n"});
    for (const tensor& one : tensors) {
      const std::string there = file::detail::printable(one.in_file);
      const bool is_renamed = !one.name.empty() && one.name != one.in_file;
      const bool has_other_shape = !one.name.empty() && !one.shape_in_file.empty() && one.shape != one.shape_in_file;
      all += text_of(
          {"  ", one.name.empty() ? there : one.name, " ", text_of(one.name.empty() ? one.shape_in_file : one.shape),
           is_renamed || has_other_shape ? ", in the file " : "", is_renamed ? there : "",
           is_renamed && has_other_shape ? " " : "", has_other_shape ? text_of(one.shape_in_file) : "", "\n"});
    }
  };
  add("loaded", loaded);
  add("not in the file", not_in_file);
  add("not in the program", not_in_program);
  add("other shape", other_shape);
  add("left out", left_out);
  return all;
}

}  // namespace cairn
