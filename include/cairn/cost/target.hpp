// Properties of the processor that is compiled for, as far as plans depend on them, and a check that all files of a
// program are compiled alike.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace cairn {

namespace costs {
/// Bytes of one SIMD register.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif
}  // namespace costs

/// True if the processor multiplies pairs of bf16. Otherwise bf16 numbers are multiplied as floats. The results have
/// the same bits if the processor has fused multiply-adds. Without fused multiply-adds, products below the least normal
/// number become zeros.
#if defined(__AVX512BF16__)
inline constexpr bool multiplies_bf16 = true;
#else
inline constexpr bool multiplies_bf16 = false;
#endif

/// True if the processor also multiplies tiles of bf16, by AMX. A tile has 16 rows and 16 columns, and is 32 numbers
/// deep. AMX adds up the products in another order. A program must ask the operating system before it uses AMX, and
/// cairn asks on Linux only.
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
inline constexpr bool multiplies_tiles = true;
#else
inline constexpr bool multiplies_tiles = false;
#endif

namespace detail {
/// States how this file is compiled, as far as functions depend on it that all files have in common.
static constexpr const char* compiled_as =
    "baseline"
#ifdef __SSE4_1__
    " sse4.1"
#endif
#ifdef __AVX__
    " avx"
#endif
#ifdef __AVX2__
    " avx2"
#endif
#ifdef __FMA__
    " fma"
#endif
#ifdef __AVX512F__
    " avx512f"
#endif
#ifdef __AVX512DQ__
    " avx512dq"
#endif
#ifdef __AVX512BW__
    " avx512bw"
#endif
#ifdef __AVX512BF16__
    " avx512bf16"
#endif
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
    " amx"
#endif
#ifdef __ARM_FEATURE_FMA
    " fma"
#endif
#ifdef __ARM_FEATURE_SVE
    " sve"
#endif
#ifdef _OPENMP
    " openmp"
#endif
#ifndef __cpp_exceptions
    " no-exceptions"
#endif
    ;
/// States how the file is compiled from which the linker took this variable. The variable is not constant, so that each
/// file reads the variable that the linker took.
inline const char* program_compiled_as = compiled_as;

/// Aborts a program before main begins, with a message, if its files are compiled in different ways. The linker would
/// mix kernels and plans of such a program, because functions and constants have the same names in all files. With
/// kernels of a file without OpenMP, threads<4> would silently be one thread. With refuse() of a file without
/// exceptions, errors would abort. This variable is static, so each file makes its own comparison, which the linker
/// cannot replace.
[[maybe_unused]] static const bool compiled_alike = [] {
  if (std::strcmp(compiled_as, program_compiled_as) == 0) return true;
  std::fprintf(stderr,
               "cairn: files of this program are compiled in different ways, \"%s\" and \"%s\"; compile all with "
               "one -march, and all or none with -fopenmp and with -fno-exceptions\n",
               program_compiled_as, compiled_as);
  std::abort();
}();

/// Aborts a program before main begins, with a message, if the compiler takes for granted that no number is NaN or
/// infinite. Checks of losses and gradients would then see nothing. base/compiler.hpp refuses the options that do this,
/// except for clang's -fno-honor-nans and -fno-honor-infinities and g++'s pragma `optimize`, which define no macro. The
/// numbers are volatile, so that the compiler does not know them.
[[maybe_unused]] static const bool sees_all_numbers = [] {
  volatile float seen_nan = std::numeric_limits<float>::quiet_NaN(),
                 seen_infinity = std::numeric_limits<float>::infinity();
  const float nan = seen_nan, infinity = seen_infinity;
  if (nan != nan && infinity > std::numeric_limits<float>::max()) return true;
  std::fputs(
      "cairn: this program is compiled as if no number were NaN or infinite; compile it without "
      "-fno-honor-nans, -fno-honor-infinities and pragmas of -ffast-math\n",
      stderr);
  std::abort();
}();
}  // namespace detail

}  // namespace cairn
