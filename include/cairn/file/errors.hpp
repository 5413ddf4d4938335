// What can be wrong with a file, and how it is said.
#pragma once

#include "cairn/core/refuse.hpp"
#include "cairn/core/text.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn::file {

using cairn::detail::text_of;

/// A file cannot be read or written, or is not what it should be: one of the three below.
struct file_error : std::runtime_error {
  std::string path, expected, actual;

  [[gnu::cold]] file_error(std::string_view file, std::string_view wanted, std::string_view given)
      : std::runtime_error(text_of({"cairn: ", file, ": expected ", wanted, ", got ", given})),
        path(file),
        expected(wanted),
        actual(given) {}
};

/// What the file holds breaks a rule of its format.
struct format_error : file_error {
  using file_error::file_error;
};

/// The system does not let it be read; `reason` is errno.
struct read_error : file_error {
  int reason;

  [[gnu::cold]] read_error(std::string_view file, std::string_view wanted, int why)
      : file_error(file, wanted, std::generic_category().message(why)), reason(why) {}
};

/// The system does not let it be written; `reason` is errno.
struct write_error : file_error {
  int reason;

  [[gnu::cold]] write_error(std::string_view file, std::string_view wanted, int why)
      : file_error(file, wanted, std::generic_category().message(why)), reason(why) {}
};

}  // namespace cairn::file
