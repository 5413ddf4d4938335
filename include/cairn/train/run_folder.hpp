// The folder of a run: what is saved on the way, the best, and a log.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/file/atomic.hpp"
#include "cairn/file/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace cairn::train {

/// Names in a folder: step-0000001200.safetensors, best.safetensors, log.csv. To look at one changes nothing.
class run_folder {
 public:
  explicit run_folder(const std::string& path) : path_(path) {}

  /// Makes the folder where there is none, and its caller the owner, as long as what it returns lives and no longer
  /// than the process. Removes files that were never finished. Throws file::write_error, also where the folder has an
  /// owner.
  file::detail::descriptor take() const {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) refuse(file::write_error(path_.string(), "a folder", error.value()));
    file::detail::descriptor lock(path_.string(), O_RDONLY | O_DIRECTORY);
    if (!lock) refuse(file::write_error(path_.string(), "a folder to look into", errno));
    bool owns = lock.lock();
    if (!owns && errno != EWOULDBLOCK) {  // a network file system locks files alone
      lock = file::detail::descriptor((path_ / "lock").string(), O_RDWR | O_CREAT, 0666);
      owns = lock.lock();
    }
    if (!owns && errno == EWOULDBLOCK)
      refuse(file::write_error(path_.string(), "a folder without an owner", EWOULDBLOCK, "a run that is under way"));
    if (!owns) refuse(file::write_error(path_.string(), "a folder that can be locked", errno));
    for (const std::string& name : names()) {
      if (file::detail::is_unfinished(name)) std::filesystem::remove(path_ / name, error);
    }
    return lock;
  }

  std::string saved_at(std::int64_t step) const {
    const std::string digits = std::to_string(step);
    const std::size_t zeros = digits.size() < 10 ? 10 - digits.size() : 0;
    return (path_ / file::text_of({before_, std::string(zeros, '0'), digits, after_})).string();
  }
  std::string best() const { return (path_ / best_).string(); }
  std::string log() const { return (path_ / log_).string(); }

  /// What was saved after the most steps; empty where nothing was.
  std::string newest() const {
    const auto all = saved();
    return all.empty() ? std::string() : (path_ / all.back().second).string();
  }
  /// The number of these steps, by the name of the file; -1 where nothing was saved.
  std::int64_t newest_step() const {
    const auto all = saved();
    return all.empty() ? -1 : all.back().first;
  }
  /// Removes all that was saved but the last `count`, and never the last. What was saved before the first step is
  /// needed until there is something later, and does not count.
  void keep_last(int count) const {
    const auto all = saved();
    std::error_code error;  // what stays does no harm
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].first == 0 || i + static_cast<std::size_t>(std::max(count, 1)) < all.size())
        std::filesystem::remove(path_ / all[i].second, error);
    }
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
  /// Of the rows that are there, those up to a step stay: later ones come again. Rows that a crash left torn are
  /// dropped. Throws file::file_error where there is something that cannot be read or is no such log. Changes nothing.
  run_log(const std::string& path, std::int64_t step) : path_(path), text_(file::text_of({titles_, "\n"})) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return;
    if (!std::filesystem::is_regular_file(path, error)) refuse(file::format_error(path, "a log", "no file"));
    std::ifstream old(path);
    std::string line;
    const bool any = static_cast<bool>(std::getline(old, line));
    if (!old && !old.eof()) refuse(file::read_error(path, "a log to go on with", errno));
    if (any && line != titles_) refuse(file::format_error(path, "a log of a run", file::detail::shown(line)));
    std::int64_t last = 0;
    while (std::getline(old, line)) {
      const std::int64_t at = step_of(line);
      if (old.eof() || at <= last || at > step) continue;
      (text_ += line) += '\n';
      last = at;
      ++rows_;
    }
    if (old.bad()) refuse(file::read_error(path, "a log to go on with", errno));
  }

  std::int64_t rows() const { return rows_; }
  /// Writes the rows that stay, once. Throws file::write_error.
  void begin() {
    if (text_.empty()) return;
    const std::span<const std::byte> whole = std::as_bytes(std::span(text_));
    file::replace(path_, {&whole, 1});
    text_.clear();
  }
  /// Appends a row, or leaves the log as it was and throws file::write_error.
  void write(const log_row& row) {
    std::string text = file::text_of({std::to_string(row.step), ",", std::to_string(row.epoch)});
    for (const double number : {row.rate, row.loss, row.gradient_norm, row.validation, row.seconds})
      text += file::text_of({",", number == number ? cairn::detail::significant(number, 9) : ""});
    text += '\n';
    file::detail::descriptor out(path_, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (!out) refuse(file::write_error(path_, "a file to append to", errno));
    const ::off_t end = ::lseek(out.number(), 0, SEEK_END);
    if (!out.write(std::as_bytes(std::span(text)))) {
      const int reason = errno;
      if (end >= 0) std::ignore = ::ftruncate(out.number(), end);
      refuse(file::write_error(path_, "a file to append to", reason));
    }
    ++rows_;
  }

 private:
  /// The step of a row; below 0 where the line is no row.
  static std::int64_t step_of(std::string_view line) {
    constexpr int numbers = 7;
    std::int64_t step = -1;
    const char* const end = line.data() + line.size();
    const auto read = std::from_chars(line.data(), end, step);
    if (read.ec != std::errc{} || std::ranges::count(line, ',') + 1 != numbers) return -1;
    const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
    return rest.find_first_not_of("0123456789.,+-einfa") == rest.npos ? step : -1;
  }

  static constexpr std::string_view titles_ = "step,epoch,rate,loss,gradient_norm,validation,seconds";
  std::string path_;
  std::string text_;  ///< titles and the rows that stay, until they are written
  std::int64_t rows_ = 0;
};

}  // namespace cairn::train
