// The folder of a run. It holds the files saved on the way, the best file, and a log.
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

/// The file names in the folder of a run: step-0000001200.safetensors, best.safetensors, log.csv. Constructing a
/// `run_folder` changes nothing on the disk.
class run_folder {
 public:
  explicit run_folder(const std::string& path) : path_(path) {}

  /// Creates the folder if there is none, makes the caller its owner, and removes files that were never finished. The
  /// caller owns the folder as long as the returned descriptor lives, and at most until the process ends. Throws
  /// file::write_error, also if the folder has another owner.
  file::detail::descriptor lock() const {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) refuse(file::write_error(path_.string(), "a folder", error.value()));
    file::detail::descriptor lock(path_.string(), O_RDONLY | O_DIRECTORY);
    if (!lock) refuse(file::write_error(path_.string(), "a folder to look into", errno));
    bool owns = lock.lock();
    if (!owns && errno != EWOULDBLOCK) {  // some network file systems lock files and no folders
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

  /// Returns the path of the file that is saved after `step` training steps. The number has at least 10 digits.
  std::string path_at_step(std::int64_t step) const {
    const std::string digits = std::to_string(step);
    const std::size_t zeros = digits.size() < 10 ? 10 - digits.size() : 0;
    return (path_ / cairn::detail::text_of({before_, std::string(zeros, '0'), digits, after_})).string();
  }
  std::string best() const { return (path_ / best_).string(); }
  std::string log() const { return (path_ / log_).string(); }

  /// Returns the path of the file that was saved after the most training steps, or an empty text if nothing was saved.
  std::string newest() const {
    const auto all = saved();
    return all.empty() ? std::string() : (path_ / all.back().second).string();
  }
  /// Returns the number of these training steps, as the name of the file says, or -1 if nothing was saved.
  std::int64_t newest_step() const {
    const auto all = saved();
    return all.empty() ? -1 : all.back().first;
  }
  /// Removes all saved files except the last `count` ones. The last file always stays. The file that was saved before
  /// the first training step is needed only until there is a later one. It is then removed whatever `count` is.
  void keep_last(int count) const {
    const auto all = saved();
    std::error_code error;  // errors are ignored, because a file that stays does no harm
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
  /// Returns the saved files, sorted by their steps. Files with other names belong to the user and are left out.
  std::vector<std::pair<std::int64_t, std::string>> saved() const {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const std::string& name : names()) {
      if (const std::int64_t step = step_in(name); step >= 0) all.emplace_back(step, name);
    }
    std::ranges::sort(all);
    return all;
  }
  /// Returns the number of training steps in the name of a saved file, or a negative number if the name is not the name
  /// of a saved file.
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

namespace detail {
/// A row of the log, written after `log_every` training steps or at the end of an epoch. Only a row at the end of an
/// epoch has a validation. A number that does not exist is NaN.
struct log_row {
  std::int64_t step;
  int epoch;
  double rate, loss, gradient_norm, validation, seconds;
};

/// The log of a run, a file of comma-separated values. A resumed run appends to its log. Numbers that do not exist are
/// left empty.
class run_log {
 public:
  /// Reads the log of a run that goes on from `step`. Rows up to `step` stay. Later rows are dropped, because the run
  /// will write them again. Rows that a crash left incomplete are dropped, too. Throws file::file_error if the path
  /// holds something that cannot be read or is not the log of a run. The file itself changes only in begin().
  run_log(const std::string& path, std::int64_t step) : path_(path), text_(cairn::detail::text_of({titles_, "\n"})) {
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

  /// Returns the number of rows in the log, without the titles.
  std::int64_t rows() const { return rows_; }
  /// Replaces the file by the titles and the rows that stay. Later calls do nothing. Throws file::write_error.
  void begin() {
    if (text_.empty()) return;
    const std::span<const std::byte> whole = std::as_bytes(std::span(text_));
    file::detail::replace(path_, {&whole, 1});
    text_.clear();
  }
  /// Appends a row. If this fails, leaves the log as it was and throws file::write_error.
  void write(const log_row& row) {
    std::string text = cairn::detail::text_of({std::to_string(row.step), ",", std::to_string(row.epoch)});
    for (const double number : {row.rate, row.loss, row.gradient_norm, row.validation, row.seconds})
      text += cairn::detail::text_of({",", number == number ? cairn::detail::significant(number, 9) : ""});
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
  /// Returns the step of a row, or a negative number if the line is not a complete row.
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
  std::string text_;  ///< the titles and the rows that stay, until begin() has written them
  std::int64_t rows_ = 0;
};
}  // namespace detail

}  // namespace cairn::train
