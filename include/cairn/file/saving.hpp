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
#include "cairn/file/safetensors.hpp"
#include "cairn/run/predictor.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

/// Thrown if the contents of a file do not fit the program. The message names tensors that are missing, that are not
/// expected, or that have another shape. It names at most 20 of them, each with the shape that is expected and the
/// shape that was found.
struct mismatch_error : file::file_error {
  using file::file_error::file_error;
};

/// Asks a program to load only a part of a file, for example a part of a model that was trained before. Moments, step
/// counts and random numbers of the program stay as they are. There are four forms.
/// - `partly{"encoder"}` loads the parameters and states of the block "encoder". The file must have all of them.
/// - `partly{"encoder", "resnet"}` loads the block "encoder" from a block that the file calls "resnet".
/// - `partly{"encoder", ""}` loads the block "encoder" from a file that holds only this block.
/// - `partly{}` loads all parameters and states that both the program and the file have.
struct partly {
  std::string_view block = {};
  std::string_view in_file = block;
};

namespace detail {

inline constexpr std::string_view steps_text = "cairn.steps", seed_text = "cairn.seed",
                                  random_text = "cairn.random_step", exchanged_text = "cairn.exchanged",
                                  format_text = "cairn.format", before_moments = "optimizer.";
/// The format version of files of programs. It grows if a name or a text in these files gets another meaning. A file
/// without `cairn.format` is of PyTorch or of cairn 0.1, and is read as version 1.
inline constexpr int file_format = 1;

inline std::string name_in_file(const kept_tensor& entry) {
  return entry.moment.empty() ? std::string(entry.name) : text_of({before_moments, entry.name, ".", entry.moment});
}

inline std::vector<std::int64_t> extents_of(const shape& s) { return {s.extent, s.extent + s.rank}; }
inline std::string text_of(const std::vector<std::int64_t>& extents) {
  std::string text = "{";
  for (const std::int64_t n : extents) text += text_of({text.size() > 1 ? ", " : "", std::to_string(n)});
  return text += '}';
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

inline void save_run(const kept_run& run, const std::string& path, file::metadata texts) {
  std::vector<file::tensor> tensors;
  const auto real = run.real_bytes == sizeof(double) ? file::dtype::f64 : file::dtype::f32;
  for (const kept_tensor& entry : run.tensors)
    tensors.push_back({name_in_file(entry),
                       entry.type == dtype::bf16 ? file::dtype::bf16 : real,
                       extents_of(entry.extents),
                       {run.at(entry), run.bytes(entry)}});
  texts[std::string(format_text)] = std::to_string(file_format);
  texts[std::string(steps_text)] = std::to_string(run.position->steps);
  texts[std::string(seed_text)] = std::to_string(run.position->random.from.value);
  texts[std::string(random_text)] = std::to_string(run.position->random.step);
  // The given texts may come from another file, with the text of that file's moment.
  texts.erase(std::string(exchanged_text));
  if (!run.exchanged.empty()) texts.emplace(exchanged_text, run.exchanged);
  texts.try_emplace("format", "pt");  // by convention, this says that the layouts are PyTorch's
  tensor_collector collect(run, tensors);
  if (run.writes_files()) file::detail::write(path, tensors, texts, [&](const file::tensor& next) { collect(next); });
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

 private:
  std::vector<std::string> names_;
};

/// Loads one file, in three steps: compares the names and shapes, reads and checks the numbers, and then changes the
/// program. So if a file does not fit, the program has not changed.
class run_loader {
 public:
  run_loader(kept_run& run, const std::string& path) : run_(run), path_(path), in_(path) {}

  /// Loads all parameters, states and moments, and returns the texts of the file.
  file::metadata all() {
    const sorted_names own = names([](const kept_tensor& entry) { return entry.moment.empty(); });
    const auto is_moment = [&](std::string_view name) {
      // A block may also have the name "optimizer".
      return name.starts_with(before_moments) && !own.has(name) && own.has_block_of(name.substr(before_moments.size()));
    };
    const bool moments = std::ranges::any_of(in_.entries, is_moment, &name_of);
    for (const kept_tensor& entry : run_.tensors) {
      if (entry.moment.empty() || moments) look_for(entry, name_in_file(entry), true);
    }
    if (run_.position != nullptr) name_unexpected(is_moment);
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

  /// Loads the part that is wanted, and returns the texts of the file.
  file::metadata part(const partly& wanted) {
    const bool anything = wanted.block.empty() && wanted.in_file.empty();
    for (const kept_tensor& entry : run_.tensors) {
      if (!entry.moment.empty() || !(wanted.block.empty() || is_of_block(wanted.block, entry.name))) continue;
      std::string_view rest = entry.name.substr(wanted.block.size());
      if (rest.starts_with('.')) rest.remove_prefix(1);
      const bool nested = !wanted.in_file.empty() && !rest.empty();
      const std::string name = text_of({wanted.in_file, nested ? "." : "", rest});
      look_for(entry, name, !anything);
    }
    if (found_.empty() && faults_.empty()) faults_.push_back({std::string(wanted.block), "no tensor of such names"});
    read();
    copy();
    return std::move(in_.metadata);
  }

 private:
  struct pair {
    const kept_tensor* to;
    const file::detail::entry* from;
    file::tensor read = {};
  };
  struct tensor_fault {
    std::string name, fault;
  };

  static const std::string& name_of(const file::detail::entry& entry) { return entry.about.name; }
  sorted_names names(auto is_wanted) const {
    std::vector<std::string> all;
    for (const kept_tensor& entry : run_.tensors) {
      if (is_wanted(entry)) all.push_back(name_in_file(entry));
    }
    return sorted_names(std::move(all));
  }
  void look_for(const kept_tensor& entry, const std::string& name, bool required) {
    const file::detail::entry* const there = in_.find(name);
    if (there == nullptr && !required) return;
    const auto wanted = extents_of(entry.extents);
    if (there == nullptr) fault(name, text_of(wanted), "nothing");
    else if (there->about.shape != wanted) fault(name, text_of(wanted), text_of(there->about.shape));
    else if (!file::detail::has_numbers(there->about.type))
      fault(name, "F32, F64, BF16, I32 or I64", file::detail::name_of(there->about.type));
    else found_.push_back({&entry, there});
  }
  /// Notes a fault for each tensor of the file that the program does not have. Two kinds of tensors are accepted
  /// although the program does not have them: moments, if the program keeps none, and PyTorch's count of the batches
  /// that a batch norm saw.
  void name_unexpected(auto is_moment) {
    const sorted_names known = names([](const kept_tensor&) { return true; });
    for (const auto& [entry, begin, end] : in_.entries) {
      if (!known.has(entry.name) && (keeps_moments() || !is_moment(entry.name)) &&
          !entry.name.ends_with("num_batches_tracked"))
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
  void refuse_faults() const {
    if (!faults_.empty()) refuse(mismatch_error(path_, "the tensors of the program", told_faults()));
  }
  /// Returns the text of a message with at most 20 faults. It leaves out moments of parameters that do not fit either.
  std::string told_faults() const {
    constexpr int most = 20;
    std::vector<std::string> all;
    for (const tensor_fault& f : faults_) all.push_back(f.name);
    const sorted_names named(std::move(all));
    std::string text = "others:";
    int count = 0;
    for (const auto& [name, fault] : faults_) {
      if (name.starts_with(before_moments) && named.has_block_of(name.substr(before_moments.size()))) continue;
      if (++count <= most) text += text_of({"\n  ", file::detail::printable(name), ": ", fault});
    }
    if (count > most) text += text_of({"\n  and ", std::to_string(count - most), " more"});
    return text;
  }
  /// Returns the position in the training at which the file was saved. There are two exceptions.
  /// - If the file has no seed or no random step, the program keeps its own.
  /// - If the program keeps moments and the file has none, the number of steps is 0, because the moments begin anew,
  ///   too.
  training_position position_in_file(bool moments) const {
    if (run_.position == nullptr) return {};
    constexpr std::int64_t most_steps = std::int64_t{1} << 62;  // leaves room to count further steps
    training_position position = *run_.position;
    read_text(seed_text, position.random.from.value);
    read_text(random_text, position.random.step);
    position.steps = 0;
    read_text(steps_text, position.steps);
    if (position.steps < 0 || position.steps > most_steps)
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
      in_.read_data(entry.from->begin, bytes);
      entry.read = entry.from->about;
      entry.read.bytes = bytes;
      at += bytes.size();
      with_number_of(*entry.to, [&]<class Number>(Number) {
        const double beyond = file::detail::first_out_of_range<Number>(entry.read.type, bytes, run_.count(*entry.to));
        if (beyond != 0)
          fault(entry.read.name, file::detail::expected_numbers<Number>(), file::detail::digits_of(beyond));
      });
    }
    refuse_faults();
  }
  void copy() const {
    for (const pair& entry : found_) {
      with_number_of(*entry.to, [&]<class Number>(Number) {
        file::copy_numbers(entry.read, std::span(reinterpret_cast<Number*>(run_.at(*entry.to)), run_.count(*entry.to)));
      });
      run_.keep(*entry.to);
    }
  }
  /// Calls `use` with a number of the type in which the program stores the tensor.
  void with_number_of(const kept_tensor& entry, auto use) const {
    if (entry.type == dtype::bf16) use(bf16{});
    else if (run_.real_bytes == sizeof(double)) use(double{});
    else use(float{});
  }

  kept_run& run_;
  std::string path_;
  file::detail::opened in_;
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
  const bool is_write_error = text.front() == 'w';
  std::string_view parts[4];
  for (std::string_view& part : parts) {
    part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  const auto& [reason, path, expected, actual] = parts;
  int number = 0;
  std::from_chars(reason.data() + 1, reason.data() + reason.size(), number);
  if (is_write_error) refuse(file::write_error(path, expected, number, actual));
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
  static file::metadata load(kept_run& run, const std::string& path, const partly& wanted) {
    return run_loader(run, path).part(wanted);
  }
};

}  // namespace detail
}  // namespace cairn

#include "cairn/base/macros_back.hpp"
