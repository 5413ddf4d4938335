// A locale that writes 1.5 as 1,5 and 1000 as 1.000.
#pragma once

#include <clocale>
#include <cstdlib>
#include <locale>
#include <stdexcept>
#include <string>
#include <tuple>

#include "run/folder.hpp"

/// Sets the locale of the process, for C and for C++, as long as the object lives. The locale is made by localedef,
/// which belongs to libc-bin. No other package is needed.
class comma_locale {
 public:
  comma_locale() {
    here_.plain("comma.src",
                "comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                "grouping 3;3\nEND LC_NUMERIC\n");
    const std::string at = here_.path / "comma";
    // localedef warns about each category that is missing, and exits with 1.
    std::ignore = std::system(("localedef -c -i " + at + ".src " + at + " 2> /dev/null").c_str());
    ::setenv("LOCPATH", here_.path.c_str(), 1);
    if (std::setlocale(LC_NUMERIC, "comma") == nullptr || *std::localeconv()->decimal_point != ',')
      throw std::runtime_error("localedef made no locale");
    before_ = std::locale::global(std::locale(std::locale(), new commas));
  }
  comma_locale(const comma_locale&) = delete;
  comma_locale& operator=(const comma_locale&) = delete;
  ~comma_locale() {
    std::locale::global(before_);
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
  }

 private:
  struct commas : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  folder here_;
  std::locale before_;
};
