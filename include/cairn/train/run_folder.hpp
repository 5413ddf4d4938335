// The folder of a run: what is saved on the way, the best, and a log.
#pragma once

#include "cairn/file/atomic.hpp"
#include "cairn/file/errors.hpp"

#include <algorithm>
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

/// Names in a folder: step-0000001200.safetensors, best.safetensors, log.csv.
class run_folder {
 public:
  /// Makes the folder where it is not there, and removes what writers that were killed left in it. Throws
  /// file::write_error.
  explicit run_folder(const std::string& path) : path_(path) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) refuse(file::write_error(path, "a folder", error.value()));
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().extension() == ".part") std::filesystem::remove(entry.path(), error);
    }
  }

  std::string saved_at(std::int64_t step) const {
    char name[40];
    std::snprintf(name, sizeof name, "step-%010lld.safetensors", static_cast<long long>(step));
    return (path_ / name).string();
  }
  std::string best() const { return (path_ / "best.safetensors").string(); }
  std::string log() const { return (path_ / "log.csv").string(); }

  /// What was saved after the most steps; empty where nothing was.
  std::string newest() const {
    const auto all = saved();
    return all.empty() ? std::string() : all.back();
  }
  /// Removes all that was saved but the last `count`.
  void keep_last(int count) const {
    const auto all = saved();
    std::error_code error;  // what stays does no harm
    for (std::size_t i = 0; i + static_cast<std::size_t>(count) < all.size(); ++i)
      std::filesystem::remove(all[i], error);
  }

 private:
  /// In the order of their steps, which is that of their names.
  std::vector<std::string> saved() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step-") && name.ends_with(".safetensors")) all.push_back(entry.path().string());
    }
    std::ranges::sort(all);
    return all;
  }

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
  /// Of a run that goes on after so many steps, rows of later ones are taken out: they come again. Throws
  /// file::write_error.
  run_log(const std::string& path, std::int64_t steps_done) : path_(path) {
    std::string text = "step,epoch,rate,loss,gradient_norm,validation,seconds\n";
    if (std::ifstream old(path); steps_done > 0 && old) {
      std::string line;
      std::getline(old, line);
      while (std::getline(old, line)) {
        std::int64_t step = 0;
        std::from_chars(line.data(), line.data() + line.size(), step);
        if (step > 0 && step <= steps_done) text += line + '\n';
      }
    }
    const std::span<const std::byte> whole = std::as_bytes(std::span(text));
    file::replace(path, {&whole, 1});
  }
  void write(const log_row& row) {
    std::string text = file::text_of({std::to_string(row.step), ",", std::to_string(row.epoch)});
    for (const double number : {row.rate, row.loss, row.gradient_norm, row.validation, row.seconds}) {
      char digits[32] = "";
      if (number == number) std::snprintf(digits, sizeof digits, "%.9g", number);
      (text += ',') += digits;
    }
    std::ofstream out(path_, std::ios::app);
    if (!(out << text << '\n').flush()) refuse(file::write_error(path_, "a file to append to", errno));
  }

 private:
  std::string path_;
};

}  // namespace cairn::train
