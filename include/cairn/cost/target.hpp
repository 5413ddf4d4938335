// Properties of the processor that is compiled for, as far as plans depend on them.
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
/// The instructions of the file from which the linker took this variable. The variable is not constant, so that each
/// file reads the variable that the linker took.
inline const char* instructions_of_program = instructions;

/// Aborts a program before main begins, with a message, if its files are compiled for different processors. The linker
/// would mix kernels and plans of such a program, because functions and constants have the same names in all files.
/// This variable is static, so each file makes its own comparison, which the linker cannot replace.
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
