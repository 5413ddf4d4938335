// The processor that is compiled for, as far as plans depend on it.
#pragma once

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

}  // namespace cairn
