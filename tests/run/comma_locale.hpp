// A locale that writes 1.5 as 1,5 and 1000 as 1.000.
#pragma once

#include <clocale>
#include <cstdlib>
#include <locale>
#include <stdexcept>
#include <string>
#include <tuple>

#include "run/folder.hpp"

/// The locale of the process while it lives, of C and of C++. libc-bin's localedef makes it: no other package need be
/// there.
class comma_locale {
 public:
  comma_locale() {
    here_.plain("comma.src",
                "comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                "grouping 3;3\nEND LC_NUMERIC\n");
    const std::string at = here_.path / "comma";
    // It warns of each category that is not there, and ends with 1.
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
