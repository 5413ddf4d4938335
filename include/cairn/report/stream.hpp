// Makes streams write numbers in the form that programs read.
#pragma once

#include "cairn/base/compiler.hpp"

#include <locale>
#include <ostream>

namespace cairn::report::detail {

/// While an object of this class lives, its stream writes numbers with a decimal point and without separators of
/// thousands, in any locale.
class plain_numbers {
 public:
  explicit plain_numbers(std::ostream& out) : out_(out), before_(out.imbue(std::locale::classic())) {}
  plain_numbers(const plain_numbers&) = delete;
  plain_numbers& operator=(const plain_numbers&) = delete;
  ~plain_numbers() { out_.imbue(before_); }

 private:
  std::ostream& out_;
  std::locale before_;
};

}  // namespace cairn::report::detail
