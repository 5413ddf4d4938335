// The processor that is compiled for, as far as plans depend on it; and that all files of a program are compiled alike.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cairn {

/// Bytes of one SIMD register.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// Whether the processor multiplies pairs of bf16; otherwise they are multiplied as floats, to the same bits where it
/// has fused multiply-adds. Without these, products below the least normal number are zeros.
#if defined(__AVX512BF16__)
inline constexpr bool multiplies_bf16 = true;
#else
inline constexpr bool multiplies_bf16 = false;
#endif

/// Whether it multiplies tiles of bf16, too, by AMX: 16 rows by 16 columns, 32 numbers deep. So it sums in another
/// order. Systems lend them to those who ask, and Linux is the one that is asked here.
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
inline constexpr bool multiplies_tiles = true;
#else
inline constexpr bool multiplies_tiles = false;
#endif

namespace detail {
/// How this file is compiled, as far as functions depend on it that all files have in common.
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
/// How the file is compiled from which the linker took this variable. No constant, so that each file reads it.
inline const char* program_compiled_as = compiled_as;

/// Ends a program whose files are compiled in different ways, before main begins: the linker would mix kernels and
/// plans of several files, because functions and constants of all files have the same names. With kernels of a file
/// without OpenMP, threads<4> would silently be one thread; with refuse() of a file without exceptions, errors would
/// abort. Each file has a comparison of its own, which no linker can replace.
[[maybe_unused]] static const bool compiled_alike = [] {
  if (std::strcmp(compiled_as, program_compiled_as) == 0) return true;
  std::fprintf(stderr,
               "cairn: files of this program are compiled in different ways, \"%s\" and \"%s\"; compile all with "
               "one -march, and all or none with -fopenmp and with -fno-exceptions\n",
               program_compiled_as, compiled_as);
  std::abort();
}();
}  // namespace detail

}  // namespace cairn
