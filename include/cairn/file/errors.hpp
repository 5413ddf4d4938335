// The exceptions for files, and how messages show the contents of a file.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn::file {

namespace detail {
using cairn::detail::text_of;

/// Returns a text from a file in a form that a message can show: at most `longest` bytes, each a printable ASCII
/// character. So a text from a file cannot move the cursor, change the direction of writing, or look like a line of
/// cairn.
[[gnu::cold]] inline std::string printable(std::string_view text, std::size_t longest = 200) {
  std::string shown(text.substr(0, longest));
  for (char& c : shown) c = c < ' ' || c > '~' ? '?' : c;
  return shown += text.size() > longest ? "..." : "";
}
/// Returns at most 64 bytes of a text from a file in this form, in quotes.
[[gnu::cold]] inline std::string shown(std::string_view text) { return text_of({"'", printable(text, 64), "'"}); }
}  // namespace detail

/// Thrown if a file cannot be read or written, or is not what it should be. The three exceptions below are derived from
/// it.
struct file_error : std::runtime_error {
  std::string path, expected, actual;

  [[gnu::cold]] file_error(std::string_view file, std::string_view wanted, std::string_view given)
      : std::runtime_error(detail::text_of({"cairn: ", file, ": expected ", wanted, ", got ", given})),
        path(file),
        expected(wanted),
        actual(given) {}
};

/// Thrown if the contents of a file break a rule of its format.
struct format_error : file_error {
  using file_error::file_error;
};

/// Thrown if the system does not let a file be read. `reason` is errno.
struct read_error : file_error {
  int reason;

  [[gnu::cold]] read_error(std::string_view file, std::string_view wanted, int why)
      : file_error(file, wanted, std::generic_category().message(why)), reason(why) {}
};

/// Thrown if the system does not let a file be written. `reason` is errno.
struct write_error : file_error {
  int reason;

  [[gnu::cold]] write_error(std::string_view file, std::string_view wanted, int why)
      : write_error(file, wanted, why, std::generic_category().message(why)) {}
  [[gnu::cold]] write_error(std::string_view file, std::string_view wanted, int why, std::string_view given)
      : file_error(file, wanted, given), reason(why) {}
};

}  // namespace cairn::file
