// What is wrong with data, as exceptions: each says what was expected and what was there instead.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn::data {

using cairn::detail::text_of;

/// A number of examples, or of their parts, that does not fit; `what()` says which.
struct size_error : std::runtime_error {
  std::int64_t expected, actual;

  [[gnu::cold]] size_error(std::string_view what, std::int64_t wanted, std::int64_t given)
      : std::runtime_error(text_of({what, ": expected ", text_of(wanted), ", got ", text_of(given)})),
        expected(wanted),
        actual(given) {}
};

/// A file that is missing, corrupt, or does not fit to the others.
struct file_error : std::runtime_error {
  std::string file, expected, actual;

  [[gnu::cold]] file_error(const std::string& path, std::string_view wanted, std::string_view given)
      : std::runtime_error(text_of({path, ": expected ", wanted, ", got ", given})),
        file(path),
        expected(wanted),
        actual(given) {}
};

/// A text that is no UTF-8 or has a character that its vocabulary has not, at that byte; or, among tokens, one that is
/// none of the vocabulary, at that place.
struct text_error : std::runtime_error {
  std::int64_t position;
  std::string expected, actual;

  [[gnu::cold]] text_error(std::string_view what, std::int64_t at, std::string_view wanted, std::string_view given)
      : std::runtime_error(text_of({what, " ", text_of(at), ": expected ", wanted, ", got ", given})),
        position(at),
        expected(wanted),
        actual(given) {}
};

/// A number that says how something is to be done, and cannot.
struct option_error : std::invalid_argument {
  std::string expected, actual;

  [[gnu::cold]] option_error(std::string_view what, std::string_view wanted, double given)
      : std::invalid_argument(text_of({what, ": expected ", wanted, ", got ", cairn::detail::exact(given)})),
        expected(wanted),
        actual(cairn::detail::exact(given)) {}
};

}  // namespace cairn::data
