// The processor that is compiled for, as far as plans depend on it.
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
/// The instructions that this file is compiled for, as far as kernels depend on them.
static constexpr const char* instructions =
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
    ;
/// The instructions of the file from which the linker took this variable. No constant, so that each file reads it.
inline const char* instructions_of_program = instructions;

/// Ends a program whose files are compiled for different processors, before main begins: the linker would mix kernels
/// and plans of several files, because functions and constants of all files have the same names. Each file has a
/// comparison of its own, which no linker can replace.
[[maybe_unused]] static const bool one_processor = [] {
  if (std::strcmp(instructions, instructions_of_program) == 0) return true;
  std::fprintf(stderr,
               "cairn: files of this program are compiled for different processors, \"%s\" and \"%s\"; "
               "compile all with one -march\n",
               instructions_of_program, instructions);
  std::abort();
}();
}  // namespace detail

}  // namespace cairn
