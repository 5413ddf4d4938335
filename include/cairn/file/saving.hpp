// Saves runs in files, and loads them: `step.save("run.safetensors")`, `step.load("run.safetensors")`, and
// `predictor<logits> predict{"run.safetensors"}`.
//
// The format is safetensors, with the names and layouts of PyTorch's state dicts, so that cairn and PyTorch can read
// each other's files. In addition to parameters and states, a run has moments, with names like
// "optimizer.fc1.weight.exp_avg", and these texts:
// - the format version;
// - the number of training steps that changed the parameters;
// - the seed, and the number of training steps that drew random numbers from it;
// - the name of the moment that has changed places with the parameters, if there is one.
//
// The code for files does not depend on the model, so it is compiled only once.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/file/parts.hpp"
#include "cairn/file/selection.hpp"
#include "cairn/run/predictor.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

namespace detail {

inline constexpr std::string_view steps_text = "cairn.steps", seed_text = "cairn.seed",
                                  random_text = "cairn.random_step", exchanged_text = "cairn.exchanged",
                                  format_text = "cairn.format", before_moments = "optimizer.",
                                  count_of_batches = "num_batches_tracked";
/// The format version of files of programs. It grows if a name or a text in these files gets another meaning. A file
/// without `cairn.format` is of PyTorch or of cairn 0.1, and is read as version 1.
inline constexpr int file_format = 1;

inline std::string name_in_file(const kept_tensor& entry) {
  return entry.moment.empty() ? std::string(entry.name) : text_of({before_moments, entry.name, ".", entry.moment});
}

/// Collects the tensors of a run from all processes, in the order of a file. Collects the rest of them at its end, even
/// if the file cannot be written, because the other processes wait for that.
class tensor_collector {
 public:
  tensor_collector(const kept_run& run, const std::vector<file::tensor>& tensors)
      : run_(run), first_(tensors.data()), sorted_(file::detail::sorted_for_file(tensors)) {}
  tensor_collector(const tensor_collector&) = delete;
  ~tensor_collector() noexcept(false) {
    while (collected_ < sorted_.size()) (*this)(*sorted_[collected_]);
  }
  /// Collects the next tensor.
  void operator()(const file::tensor& next) {
    ++collected_;
    run_.collect(run_.tensors[static_cast<std::size_t>(&next - first_)]);
  }

 private:
  const kept_run& run_;
  const file::tensor* first_;
  std::vector<const file::tensor*> sorted_;
  std::size_t collected_ = 0;
};

/// Writes a file as file::detail::write does. Throws format_error if `load` would take the file for an index of others.
inline void write_for_load(const std::string& path, const std::vector<file::tensor>& tensors,
                           const file::metadata& texts, auto prepare) {
  if (file::detail::is_index(path))
    refuse(file::format_error(path, "the name of a safetensors file", "the name of an index of several files"));
  file::detail::write(path, tensors, texts, prepare);
}

inline file::dtype type_in_file(const kept_run& run, const kept_tensor& entry) {
  if (entry.type == dtype::bf16) return file::dtype::bf16;
  return run.real_bytes == sizeof(double) ? file::dtype::f64 : file::dtype::f32;
}
/// Throws format_error if a parameter or state has the name that a moment has in a file.
inline void check_names_of_moments(const kept_run& run, const std::string& path) {
  for (const kept_tensor& entry : run.tensors) {
    if (!entry.is_leaf() || !entry.name.starts_with(before_moments)) continue;
    for (const kept_tensor& other : run.tensors)
      if (!other.is_leaf() && name_in_file(other) == entry.name)
        refuse(file::format_error(
            path, text_of({"another name of a parameter than that of the ", other.moment, " of ", other.name}),
            file::detail::shown(entry.name)));
  }
}
inline void save_run(const kept_run& run, const std::string& path, file::metadata texts) {
  check_names_of_moments(run, path);
  std::vector<file::tensor> tensors;
  for (const kept_tensor& entry : run.tensors)
    tensors.push_back(
        {name_in_file(entry), type_in_file(run, entry), extents_of(entry.extents), {run.at(entry), run.bytes(entry)}});
  texts[std::string(format_text)] = std::to_string(file_format);
  texts[std::string(steps_text)] = std::to_string(run.position->steps);
  texts[std::string(seed_text)] = std::to_string(run.position->random.from.value);
  texts[std::string(random_text)] = std::to_string(run.position->random.step);
  // The given texts may come from another file, with the text of that file's moment.
  texts.erase(std::string(exchanged_text));
  if (!run.exchanged.empty()) texts.emplace(exchanged_text, run.exchanged);
  texts.try_emplace("format", "pt");  // by convention, this says that the layouts are PyTorch's
  tensor_collector collect(run, tensors);
  if (run.writes_files()) write_for_load(path, tensors, texts, [&](const file::tensor& next) { collect(next); });
}

/// Saves the parameters and states that are selected. `texts` are written, too.
inline void save_selection(const kept_run& run, const std::string& path, const selection& wanted,
                           file::metadata texts) {
  if (!run.writes_files()) return;  // moments are not saved, so no process has a part of what is
  named_leaves names(run, wanted);
  names.check_except();
  refuse_faults(path, names.faults, "names that fit the program", before_moments);
  std::erase_if(names.leaves, [](const named_leaf& one) { return !one.is_selected; });
  std::size_t most_bytes = 0;
  for (const named_leaf& one : names.leaves)
    most_bytes = std::max(most_bytes, one.is_transposed * run.bytes(*one.leaf));
  const auto transposed = std::make_unique_for_overwrite<std::byte[]>(most_bytes);
  std::vector<file::tensor> tensors;
  for (named_leaf& one : names.leaves) {
    const std::byte* const from = one.is_transposed ? transposed.get() : run.at(*one.leaf);
    tensors.push_back({one.in_file, type_in_file(run, *one.leaf), one.extents_in_file(), {from, run.bytes(*one.leaf)}});
  }
  // The given texts may come from the file of a run, and a selection has no run.
  for (const std::string_view of_run : {steps_text, seed_text, random_text, exchanged_text})
    texts.erase(std::string(of_run));
  texts[std::string(format_text)] = std::to_string(file_format);
  texts.try_emplace("format", "pt");
  // All transposed tensors share one memory, which holds the tensor that is written next.
  write_for_load(path, tensors, texts, [&](const file::tensor& next) {
    const named_leaf& one = names.leaves[static_cast<std::size_t>(&next - tensors.data())];
    if (!one.is_transposed) return;
    with_number_of(run, *one.leaf, [&]<class Number>(Number) {
      transpose(reinterpret_cast<const Number*>(run.at(*one.leaf)), one.leaf->extents.extent[0],
                one.leaf->extents.extent[1], reinterpret_cast<Number*>(transposed.get()));
    });
  });
}

/// Loads one file, in three steps: compares the names and shapes, reads and checks the numbers, and then changes the
/// program. So if a file does not fit, the program has not changed.
class run_loader {
 public:
  run_loader(kept_run& run, const std::string& path) : run_(run), path_(path), in_(path) {}

  /// Loads all parameters, states and moments, and returns the texts of the file.
  file::metadata all() {
    const sorted_names own = names([](const kept_tensor& entry) { return entry.moment.empty(); });
    const auto is_of_own = [&](std::string_view name) { return is_moment(name, own); };
    const bool moments = std::ranges::any_of(in_.entries, is_of_own, &name_of);
    for (const kept_tensor& entry : run_.tensors) {
      if (entry.moment.empty() || moments) look_for(entry, name_in_file(entry), true);
    }
    if (run_.position != nullptr) name_unexpected(is_of_own);
    read();
    const training_position position = position_in_file(moments);
    const std::string_view exchanged = exchanged_in_file(moments);
    copy();
    // If the file has no moments, the moments of the program begin anew at 0.
    for (const kept_tensor& entry : run_.tensors) {
      if (entry.moment.empty() || moments) continue;
      std::fill_n(run_.at(entry), run_.bytes(entry), std::byte{});
      run_.keep(entry);
    }
    if (run_.position != nullptr) *run_.position = position;
    run_.exchanged = exchanged;
    return std::move(in_.metadata);
  }

  /// Loads the tensors that are selected, and returns what it did.
  load_report some(named_leaves names) {
    faults_ = std::exchange(names.faults, {});
    const bool is_predictor = run_.position == nullptr;
    std::vector<std::string> own;
    for (const named_leaf& one : names.leaves) {
      own.push_back(one.in_file);
      if (one.is_selected) look_for(*one.leaf, one.in_file, names.is_required || is_predictor, one.is_transposed);
      else if (is_predictor) fault(one.leaf->name, "a selection with this tensor, which the predictor needs", "none");
    }
    const sorted_names known(std::move(own));
    load_report report;
    for (const auto& one : in_.entries) {
      const file::tensor& entry = one.about;
      const bool is_left_out = names.leaves_out(entry.name);
      if (known.has(entry.name) || is_moment(entry.name, known)) continue;
      report.not_in_program.push_back({{}, entry.name, {}, entry.shape});
      const bool is_accepted =
          is_left_out || names.accepts_others || is_predictor || entry.name.ends_with(count_of_batches);
      if (!is_accepted) fault(entry.name, "nothing", text_of(entry.shape));
    }
    names.check_except();
    std::ranges::move(names.faults, std::back_inserter(faults_));
    if (found_.empty() && faults_.empty()) fault("the selection", "at least one tensor", "none");
    read();
    for (const named_leaf& one : names.leaves) report_on(one, report);
    report.texts = std::move(in_.metadata);
    copy();
    return report;
  }

 private:
  struct pair {
    const kept_tensor* to;
    const file::detail::part_entry* from;
    bool is_transposed;
    file::tensor read = {};
  };

  static const std::string& name_of(const file::detail::part_entry& entry) { return entry.about.name; }
  /// Returns true if `name` is a moment of a tensor that is in `own`. A block may also have the name "optimizer".
  static bool is_moment(std::string_view name, const sorted_names& own) {
    return name.starts_with(before_moments) && !own.has(name) && own.has_block_of(name.substr(before_moments.size()));
  }
  sorted_names names(auto is_wanted) const {
    std::vector<std::string> all;
    for (const kept_tensor& entry : run_.tensors) {
      if (is_wanted(entry)) all.push_back(name_in_file(entry));
    }
    return sorted_names(std::move(all));
  }
  void look_for(const kept_tensor& entry, const std::string& name, bool required, bool is_transposed = false) {
    const file::detail::part_entry* const there = in_.find(name);
    if (there == nullptr && !required) return;
    auto wanted = extents_of(entry.extents);
    if (is_transposed) std::ranges::reverse(wanted);
    if (there == nullptr) fault(name, text_of(wanted), "nothing");
    else if (there->about.shape != wanted) fault(name, text_of(wanted), text_of(there->about.shape));
    else if (!file::detail::has_numbers(there->about.type))
      fault(name, file::detail::names_of_number_types, file::detail::name_of(there->about.type));
    else found_.push_back({&entry, there, is_transposed});
  }
  /// Notes a fault for each tensor of the file that the program does not have. Two kinds of tensors are accepted
  /// although the program does not have them: moments, if the program keeps none, and PyTorch's count of the batches
  /// that a batch norm saw.
  void name_unexpected(auto is_of_own) {
    const sorted_names known = names([](const kept_tensor&) { return true; });
    for (const auto& one : in_.entries) {
      const file::tensor& entry = one.about;
      if (!known.has(entry.name) && (keeps_moments() || !is_of_own(entry.name)) &&
          !entry.name.ends_with(count_of_batches))
        fault(entry.name, "nothing", text_of(entry.shape));
    }
  }
  void fault(std::string_view name, std::string_view expected, std::string_view actual) {
    faults_.push_back({std::string(name), text_of({"expected ", expected, ", got ", actual})});
  }
  void check_format() const {
    int format = file_format;
    read_text(format_text, format);
    if (format < 1) refuse(file::format_error(path_, "a format version of 1 or more", std::to_string(format)));
    if (format > file_format)
      refuse(file::format_error(path_, text_of({"format version ", std::to_string(file_format), " or older"}),
                                text_of({std::to_string(format), ", which a newer cairn reads"})));
  }
  void refuse_faults() const { detail::refuse_faults(path_, faults_, "the tensors of the program", before_moments); }
  /// Reports what is done with a tensor of the program.
  void report_on(const named_leaf& one, load_report& report) const {
    const file::detail::part_entry* const there = in_.find(one.in_file);
    const bool is_there = there != nullptr;
    const auto wanted = one.extents_in_file();
    auto& list = !is_there                      ? report.not_in_file
                 : one.is_selected              ? report.loaded
                 : there->about.shape != wanted ? report.other_shape
                                                : report.left_out;
    list.push_back({std::string(one.leaf->name), one.in_file, extents_of(one.leaf->extents),
                    is_there ? there->about.shape : std::vector<std::int64_t>()});
  }
  /// Returns the position in the training at which the file was saved. There are two exceptions.
  /// - If the file has no seed or no random step, the program keeps its own.
  /// - If the program keeps moments and the file has none, the number of steps is 0, because the moments begin anew,
  ///   too.
  training_position position_in_file(bool moments) const {
    if (run_.position == nullptr) return {};
    training_position position = *run_.position;
    read_text(seed_text, position.random.from.value);
    read_text(random_text, position.random.step);
    position.steps = 0;
    read_text(steps_text, position.steps);
    if (position.steps < 0 || position.steps > setting::most_steps)
      refuse(file::format_error(path_, "a number of steps from 0 to 2^62", std::to_string(position.steps)));
    if (keeps_moments() && !moments) position.steps = 0;
    return position;
  }
  /// Returns the name of the moment that had changed places with the parameters, or an empty name.
  std::string_view exchanged_in_file(bool moments) const {
    const auto exchanged = in_.metadata.find(exchanged_text);
    if (!moments || !keeps_moments() || exchanged == in_.metadata.end()) return {};
    const std::string_view own = moment_in(run_.tensors, exchanged->second);
    if (own.empty() || !has_shape_of_parameters(run_.tensors, own))
      refuse(file::format_error(path_, text_of({"a moment of the program as ", exchanged_text}),
                                file::detail::shown(exchanged->second)));
    return own;
  }
  bool keeps_moments() const {
    return std::ranges::any_of(run_.tensors, [](const kept_tensor& t) { return !t.moment.empty(); });
  }
  template <class Number>
  void read_text(std::string_view name, Number& to) const {
    const auto text = in_.metadata.find(name);
    if (text == in_.metadata.end()) return;
    const std::string& digits = text->second;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    if (error != std::errc{} || end != digits.data() + digits.size())
      refuse(file::format_error(path_, text_of({"a whole number as ", name}), file::detail::shown(digits)));
  }

  /// Reads the numbers of all tensors, if all names and shapes fit. Throws mismatch_error if they do not fit, or if a
  /// number is beyond the range of the program's type.
  void read() {
    check_format();
    refuse_faults();
    std::size_t size = 0;
    for (const pair& entry : found_) size += entry.from->end - entry.from->begin;
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
    std::byte* at = bytes_.get();
    for (pair& entry : found_) {
      const std::span bytes(at, entry.from->end - entry.from->begin);
      in_.read(*entry.from, bytes);
      entry.read = entry.from->about;
      entry.read.bytes = bytes;
      at += bytes.size();
      with_number_of(run_, *entry.to, [&]<class Number>(Number) {
        const double beyond = file::detail::first_out_of_range<Number>(entry.read.type, bytes, run_.count(*entry.to));
        if (beyond != 0)
          fault(entry.read.name, file::detail::expected_numbers<Number>(), file::detail::digits_of(beyond));
      });
    }
    refuse_faults();
  }
  /// Copies the numbers to the program. All memory is allocated before the first copy: if there is too little memory,
  /// the program has not changed.
  void copy() const {
    std::size_t most_bytes = 0;
    for (const pair& entry : found_) most_bytes = std::max(most_bytes, entry.is_transposed * run_.bytes(*entry.to));
    const auto transposed = std::make_unique_for_overwrite<std::byte[]>(most_bytes);
    for (const pair& entry : found_) {
      with_number_of(run_, *entry.to, [&]<class Number>(Number) {
        const std::span to(reinterpret_cast<Number*>(run_.at(*entry.to)), run_.count(*entry.to));
        if (entry.is_transposed) {
          const std::span numbers(reinterpret_cast<Number*>(transposed.get()), to.size());
          file::copy_numbers(entry.read, numbers);
          transpose(numbers.data(), entry.read.shape[0], entry.read.shape[1], to.data());
        } else {
          file::copy_numbers(entry.read, to);
        }
      });
      run_.keep(*entry.to);
    }
  }

  kept_run& run_;
  std::string path_;
  file::detail::opened_model in_;
  std::vector<pair> found_;
  std::unique_ptr<std::byte[]> bytes_;  ///< the bytes of all tensors in found_
  std::vector<tensor_fault> faults_;
};

/// Calls `save`. Returns an empty text, or a text from which throw_saved_fault makes the exception that `save` threw. A
/// process that did not save thereby throws the exception of the process that did.
std::string fault_in_saving(auto save) {
#ifdef __cpp_exceptions
  const auto text = [](char kind, int reason, const file::file_error& error) {
    std::string all = text_of({std::string_view(&kind, 1), std::to_string(reason)});
    for (const std::string_view part : {error.path, error.expected, error.actual})
      all += text_of({std::string_view("\0", 1), part});
    return all;
  };
  try {
    save();
  } catch (const file::write_error& error) {
    return text('w', error.reason, error);
  } catch (const mismatch_error& error) {
    return text('m', 0, error);
  } catch (const file::format_error& error) {
    return text('f', 0, error);
  }
#else
  save();
#endif
  return {};
}
inline void throw_saved_fault(std::string_view text) {
  if (text.empty()) return;
  const char kind = text.front();
  std::string_view parts[4];
  for (std::string_view& part : parts) {
    part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  const auto& [reason, path, expected, actual] = parts;
  int number = 0;
  std::from_chars(reason.data() + 1, reason.data() + reason.size(), number);
  if (kind == 'm') refuse(mismatch_error(path, expected, actual));
  if (kind == 'w') refuse(file::write_error(path, expected, number, actual));
  refuse(file::format_error(path, expected, actual));
}

template <class Path>
struct kept_files {
  static std::string fault_in(auto save) { return fault_in_saving(save); }
  static void throw_again(std::string_view fault) { throw_saved_fault(fault); }
  static void save(const kept_run& run, const std::string& path, file::metadata texts = {}) {
    save_run(run, path, std::move(texts));
  }
  static file::metadata load(kept_run& run, const std::string& path) { return run_loader(run, path).all(); }
  static void save(const kept_run& run, const std::string& path, const selection& wanted, file::metadata texts = {}) {
    save_selection(run, path, wanted, std::move(texts));
  }
  static load_report load(kept_run& run, const std::string& path, const selection& wanted) {
    return run_loader(run, path).some(named_leaves(run, wanted));
  }
  static load_report load(kept_run& run, const std::string& path, const partly& wanted) {
    return run_loader(run, path).some(named_leaves(run, wanted));
  }
};

}  // namespace detail
}  // namespace cairn

#include "cairn/base/macros_back.hpp"
