// What becomes of a call that cannot be done at run time.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace cairn {

/// A program that cannot run as it is: nobody has initialized or written its parameters, it was moved from, or the
/// system does not lend it what it was compiled for.
struct program_error : std::logic_error {
  using std::logic_error::logic_error;
};

/// What a program compiled with -fno-exceptions calls, with the text of the error, where it would throw. Set it to a
/// function of your own, which restarts the device, or blinks; when it returns, the program is aborted.
inline void (*on_refusal)(const char* text) = [](const char* text) { std::fprintf(stderr, "%s\n", text); };

/// Throws the error; without exceptions, calls on_refusal and aborts.
template <class Error>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const Error& error) {
#ifdef __cpp_exceptions
  throw error;
#else
  on_refusal(error.what());
  std::abort();
#endif
}

}  // namespace cairn
