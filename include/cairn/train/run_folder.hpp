// The folder of a run: what is saved on the way, the best, and a log.
#pragma once

#include "cairn/file/atomic.hpp"
#include "cairn/file/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cairn::train {

/// Names in a folder: step-0000001200.safetensors, best.safetensors, log.csv. To look at one changes nothing.
class run_folder {
 public:
  explicit run_folder(const std::string& path) : path_(path) {}

  /// Makes the folder where it is not there, and removes what writers of these files left that were killed. Throws
  /// file::write_error.
  void take() const {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) refuse(file::write_error(path_.string(), "a folder", error.value()));
    for (const std::string& name : names()) {
      if (is_abandoned(name)) std::filesystem::remove(path_ / name, error);
    }
  }

  std::string saved_at(std::int64_t step) const {
    char name[40];
    std::snprintf(name, sizeof name, "step-%010lld.safetensors", static_cast<long long>(step));
    return (path_ / name).string();
  }
  std::string best() const { return (path_ / best_).string(); }
  std::string log() const { return (path_ / log_).string(); }

  /// What was saved after the most steps; empty where nothing was.
  std::string newest() const {
    const auto all = saved();
    return all.empty() ? std::string() : (path_ / all.back().second).string();
  }
  /// Whether no run has saved anything there.
  bool is_new() const { return newest().empty() && !std::filesystem::exists(best()); }
  /// Removes all that was saved but the last `count`, and never the last.
  void keep_last(int count) const {
    const auto all = saved();
    std::error_code error;  // what stays does no harm
    for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(count, 1)) < all.size(); ++i)
      std::filesystem::remove(path_ / all[i].second, error);
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    std::error_code error;
    std::filesystem::directory_iterator at(path_, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
      all.push_back(at->path().filename().string());
    if (error && error != std::errc::no_such_file_or_directory)
      refuse(file::write_error(path_.string(), "a folder to look into", error.value()));
    return all;
  }
  /// By their steps; files of other names are the user's.
  std::vector<std::pair<std::int64_t, std::string>> saved() const {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const std::string& name : names()) {
      if (const std::int64_t step = step_in(name); step >= 0) all.emplace_back(step, name);
    }
    std::ranges::sort(all);
    return all;
  }
  /// The steps after which it was saved; below 0 where the name is no such.
  static std::int64_t step_in(std::string_view name) {
    if (!name.starts_with(before_) || !name.ends_with(after_) || name.size() <= before_.size() + after_.size())
      return -1;
    std::int64_t step = -1;
    const char* const end = name.data() + name.size() - after_.size();
    const auto read = std::from_chars(name.data() + before_.size(), end, step);
    return read.ec == std::errc{} && read.ptr == end ? step : -1;
  }
  /// Whether it is one of these files, unfinished, of a process that is no more.
  static bool is_abandoned(std::string_view name) {
    const std::string_view whole = file::detail::left_unfinished(name);
    return whole == best_ || whole == log_ || step_in(whole) >= 0;
  }

  static constexpr std::string_view before_ = "step-", after_ = ".safetensors", best_ = "best.safetensors",
                                    log_ = "log.csv";
  std::filesystem::path path_;
};

/// A row of the log: after some steps, or at the end of an epoch, where alone there is a validation.
struct log_row {
  std::int64_t step;
  int epoch;
  double rate, loss, gradient_norm, validation, seconds;
};

/// A file of comma-separated values, which a run that goes on appends to. Numbers that are not there are left out.
class run_log {
 public:
  /// Of a run that goes on, so many rows stay: later ones come again. Throws file::write_error.
  run_log(const std::string& path, std::int64_t rows) : path_(path) {
    std::string text = "step,epoch,rate,loss,gradient_norm,validation,seconds\n";
    if (std::ifstream old(path); rows > 0 && old) {
      std::string line;
      std::getline(old, line);
      while (rows_ < rows && std::getline(old, line) && !old.eof()) {  // whose end was written
        (text += line) += '\n';
        ++rows_;
      }
    }
    const std::span<const std::byte> whole = std::as_bytes(std::span(text));
    file::replace(path, {&whole, 1});
  }
  std::int64_t rows() const { return rows_; }
  void write(const log_row& row) {
    std::string text = file::text_of({std::to_string(row.step), ",", std::to_string(row.epoch)});
    for (const double number : {row.rate, row.loss, row.gradient_norm, row.validation, row.seconds}) {
      char digits[32] = "";
      if (number == number) std::snprintf(digits, sizeof digits, "%.9g", number);
      (text += ',') += digits;
    }
    std::ofstream out(path_, std::ios::app);
    if (!(out << text << '\n').flush()) refuse(file::write_error(path_, "a file to append to", errno));
    ++rows_;
  }

 private:
  std::string path_;
  std::int64_t rows_ = 0;
};

}  // namespace cairn::train
