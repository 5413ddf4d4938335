// What is wrong with the body of a loop.
#pragma once

#include "cairn/check/checks.hpp"
#include "cairn/pass/loop.hpp"

namespace cairn {

template <class Loop, class Target>
constexpr auto problem_of_loop() {
  return sound{};
}

}  // namespace cairn
