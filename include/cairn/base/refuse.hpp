// Reports a call that cannot be done at run time: it throws, or, without exceptions, it prints and aborts.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace cairn {

/// The error of a program that cannot run. There are three reasons:
/// - Some of its parameters were neither initialized nor written.
/// - The program was moved from.
/// - The operating system refuses an instruction set that the program was compiled for (AMX).
struct program_error : std::logic_error {
  using std::logic_error::logic_error;
};

/// The function that a program compiled with -fno-exceptions calls, with the text of the error, instead of throwing.
/// Set it to a function of your own, which restarts the device, for example. If the function returns, the program is
/// aborted.
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
