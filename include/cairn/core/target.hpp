// The processor that is compiled for, as far as plans depend on it.
#pragma once

#include "cairn/core/compiler.hpp"

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

}  // namespace cairn
