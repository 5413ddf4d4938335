// Runs in files: `step.save("run.safetensors")`, `step.load("run.safetensors")`, and `predictor<logits>
// predict{"run.safetensors"}`. The format is safetensors, names and layouts are those of PyTorch's state dicts, so that
// either reads what the other wrote. Beside parameters and states a run has moments, as "optimizer.fc1.weight.exp_avg",
// and, as texts, how many steps changed the parameters, the seed, and how many steps drew from it. Compiled once,
// whatever the model.
#pragma once

#include "cairn/core/macros_aside.hpp"

#include "cairn/exec/predictor.hpp"
#include "cairn/file/safetensors.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

/// What a file has does not fit the program. Tensors that are missing, not expected, or of another shape are named, the
/// first 20 of them, with the shape that is wanted and the one that is there.
struct mismatch_error : file::file_error {
  using file::file_error::file_error;
};

/// Has a program load a part alone, of a model that was trained before: `partly{"encoder"}` is the parameters and
/// states of that block, which the file must all have; `partly{"encoder", "resnet"}` those of a block that is called
/// otherwise in the file, `partly{"encoder", ""}` of one that is all of the file; `partly{}` whatever both have.
/// Moments, steps and random numbers stay as they are.
struct partly {
  std::string_view block = {};
  std::string_view in_file = block;
};

namespace detail {

inline constexpr std::string_view steps_text = "cairn.steps", seed_text = "cairn.seed",
                                  random_text = "cairn.random_step", before_moments = "optimizer.";

inline std::string name_in_file(const kept_tensor& entry) {
  return entry.moment.empty() ? std::string(entry.name) : text_of({before_moments, entry.name, ".", entry.moment});
}

inline std::vector<std::int64_t> extents_of(const shape& s) { return {s.extent, s.extent + s.rank}; }
inline std::string text_of(const std::vector<std::int64_t>& extents) {
  std::string text = "{";
  for (const std::int64_t n : extents) text += text_of({text.size() > 1 ? ", " : "", std::to_string(n)});
  return text += '}';
}

inline void save_run(const kept_run& run, const std::string& path, file::metadata texts) {
  std::vector<file::tensor> tensors;
  const auto real = run.real_bytes == sizeof(double) ? file::dtype::f64 : file::dtype::f32;
  for (const kept_tensor& entry : run.tensors)
    tensors.push_back({name_in_file(entry),
                       entry.type == dtype::bf16 ? file::dtype::bf16 : real,
                       extents_of(entry.extents),
                       {run.at(entry), run.bytes(entry)}});
  texts[std::string(steps_text)] = std::to_string(run.counters->steps);
  texts[std::string(seed_text)] = std::to_string(run.counters->random.from.value);
  texts[std::string(random_text)] = std::to_string(run.counters->random.step);
  texts.try_emplace("format", "pt");  // as PyTorch's users say that layouts are theirs
  file::write(path, tensors, texts);
}

/// One file being loaded: what is found of each tensor, and all that does not fit.
class run_loader {
 public:
  run_loader(const kept_run& run, const std::string& path) : run_(run), path_(path), in_(path) {}

  file::metadata all() {
    const bool moments =
        std::ranges::any_of(in_.tensors(), [this](const file::tensor& t) { return is_moment(t.name); });
    for (const kept_tensor& entry : run_.tensors) {
      if (entry.moment.empty() || moments) look_for(entry, name_in_file(entry), true);
    }
    if (run_.counters != nullptr) name_unexpected();
    const run_counters counters = counters_there(moments);
    copy();
    // Of a file that is no run, moments begin anew.
    for (const kept_tensor& entry : run_.tensors) {
      if (!entry.moment.empty() && !moments) std::fill_n(run_.at(entry), run_.bytes(entry), std::byte{});
    }
    if (run_.counters != nullptr) *run_.counters = counters;
    return in_.metadata();
  }

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
    copy();
    return in_.metadata();
  }

 private:
  struct pair {
    const kept_tensor* to;
    const file::tensor* from;
  };
  struct tensor_fault {
    std::string name, told;
  };

  /// Whether it is a moment of a parameter of this program, whichever rule kept it. A block may be called optimizer,
  /// too.
  bool is_moment(std::string_view name) const {
    if (!name.starts_with(before_moments)) return false;
    const std::string_view of = name.substr(before_moments.size());
    bool found = false;
    for (const kept_tensor& own : run_.tensors) {
      if (own.moment.empty() && own.name == name) return false;
      found = found || (own.name != of && is_of_block(own.name, of));
    }
    return found;
  }
  void look_for(const kept_tensor& entry, const std::string& name, bool required) {
    const file::tensor* const there = in_.find(name);
    if (there == nullptr && !required) return;
    const auto wanted = extents_of(entry.extents);
    if (there == nullptr) fault(name, text_of(wanted), "nothing");
    else if (there->shape != wanted) fault(name, text_of(wanted), text_of(there->shape));
    else if (!file::has_numbers(there->type)) fault(name, "F32, F64, BF16, I32 or I64", file::name_of(there->type));
    else found_.push_back({&entry, there});
  }
  /// A program need not have moments, nor PyTorch's count of the batches that a batch norm saw.
  void name_unexpected() {
    std::vector<std::string> known;
    for (const kept_tensor& entry : run_.tensors) known.push_back(name_in_file(entry));
    std::ranges::sort(known);
    for (const file::tensor& entry : in_.tensors()) {
      if (!std::ranges::binary_search(known, entry.name) && (keeps_moments() || !is_moment(entry.name)) &&
          !entry.name.ends_with("num_batches_tracked"))
        fault(entry.name, "nothing", text_of(entry.shape));
    }
  }
  void fault(std::string_view name, std::string_view expected, std::string_view actual) {
    faults_.push_back({std::string(name), text_of({"expected ", expected, ", got ", actual})});
  }
  /// Whether it is a moment of a parameter that does not fit either.
  bool follows_another(std::string_view name) const {
    return name.starts_with(before_moments) && std::ranges::any_of(faults_, [&](const tensor_fault& f) {
      const std::string_view of = name.substr(before_moments.size());
      return f.name != of && is_of_block(f.name, of);
    });
  }
  std::string told_faults() const {
    constexpr int most = 20;
    std::string text = "others:";
    int count = 0;
    for (const auto& [name, told] : faults_) {
      if (!follows_another(name) && ++count <= most) text += text_of({"\n  ", name, ": ", told});
    }
    if (count > most) text += text_of({"\n  and ", std::to_string(count - most), " more"});
    return text;
  }
  /// Where the file is no run, the program goes on drawing as it did; where it has no moments for those of the program,
  /// these begin anew.
  run_counters counters_there(bool moments) const {
    if (run_.counters == nullptr) return {};
    run_counters counters = *run_.counters;
    read(seed_text, counters.random.from.value);
    read(random_text, counters.random.step);
    counters.steps = 0;
    read(steps_text, counters.steps);
    if (counters.steps < 0 || counters.steps == std::numeric_limits<std::int64_t>::max())
      refuse(file::format_error(path_, "a number of steps", std::to_string(counters.steps)));
    if (keeps_moments() && !moments) counters.steps = 0;
    return counters;
  }
  bool keeps_moments() const {
    return std::ranges::any_of(run_.tensors, [](const kept_tensor& t) { return !t.moment.empty(); });
  }
  template <class Number>
  void read(std::string_view name, Number& to) const {
    const auto text = in_.metadata().find(name);
    if (text == in_.metadata().end()) return;
    const std::string& digits = text->second;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    if (error != std::errc{} || end != digits.data() + digits.size())
      refuse(file::format_error(path_, text_of({"a whole number as ", name}), digits));
  }
  void copy() {
    if (!faults_.empty()) refuse(mismatch_error(path_, "the tensors of the program", told_faults()));
    for (const auto& [to, from] : found_) {
      if (to->type == dtype::bf16) copy<bf16>(*from, *to);
      else if (run_.real_bytes == sizeof(double)) copy<double>(*from, *to);
      else copy<float>(*from, *to);
    }
  }
  template <class Number>
  void copy(const file::tensor& from, const kept_tensor& to) const {
    file::copy_numbers(from, std::span(reinterpret_cast<Number*>(run_.at(to)), run_.count(to)));
  }

  kept_run run_;
  std::string path_;
  file::reader in_;
  std::vector<pair> found_;
  std::vector<tensor_fault> faults_;
};

template <class Path>
struct kept_files {
  static void save(const kept_run& run, const std::string& path, file::metadata texts = {}) {
    save_run(run, path, std::move(texts));
  }
  static file::metadata load(const kept_run& run, const std::string& path) { return run_loader(run, path).all(); }
  static file::metadata load(const kept_run& run, const std::string& path, const partly& wanted) {
    return run_loader(run, path).part(wanted);
  }
};

}  // namespace detail
}  // namespace cairn

#include "cairn/core/macros_back.hpp"
