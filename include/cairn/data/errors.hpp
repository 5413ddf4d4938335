// Exceptions for data that is not right. Each exception says what was expected and what was found instead.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn::data {

namespace detail {
using cairn::detail::text_of;
}

/// Thrown for a number of examples, pixels or tokens that does not fit. `what()` names what was counted.
struct size_error : std::runtime_error {
  std::int64_t expected, actual;

  [[gnu::cold]] size_error(std::string_view what, std::int64_t wanted, std::int64_t given)
      : std::runtime_error(
            detail::text_of({what, ": expected ", detail::text_of(wanted), ", got ", detail::text_of(given)})),
        expected(wanted),
        actual(given) {}
};

/// Thrown for a file that is missing or corrupt, or that does not fit the other files of its data set.
struct file_error : std::runtime_error {
  std::string file, expected, actual;

  [[gnu::cold]] file_error(const std::string& path, std::string_view wanted, std::string_view given)
      : std::runtime_error(detail::text_of({path, ": expected ", wanted, ", got ", given})),
        file(path),
        expected(wanted),
        actual(given) {}
};

/// Thrown for a text or for tokens that a vocabulary does not know. `position` is
/// - the byte at which a text stops being UTF-8, or has a character that is not in the vocabulary;
/// - the index of a token that is not in the vocabulary.
struct text_error : std::runtime_error {
  std::int64_t position;
  std::string expected, actual;

  [[gnu::cold]] text_error(std::string_view what, std::int64_t at, std::string_view wanted, std::string_view given)
      : std::runtime_error(detail::text_of({what, " ", detail::text_of(at), ": expected ", wanted, ", got ", given})),
        position(at),
        expected(wanted),
        actual(given) {}
};

/// Thrown for an option with a value that is not allowed.
struct option_error : std::invalid_argument {
  std::string expected, actual;

  [[gnu::cold]] option_error(std::string_view what, std::string_view wanted, double given)
      : std::invalid_argument(detail::text_of({what, ": expected ", wanted, ", got ", cairn::detail::exact(given)})),
        expected(wanted),
        actual(cairn::detail::exact(given)) {}
};

}  // namespace cairn::data
