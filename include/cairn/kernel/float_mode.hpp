// Sets how the processor rounds. Each thread can set its own mode, and the results of a program must not depend on it.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>

namespace cairn::kernels {

/// While an object of this class exists, its thread rounds to nearest and keeps subnormal numbers, as a new process
/// does. Afterwards the thread rounds as before. This class is necessary because a library that is linked with
/// -ffast-math can set flush-to-zero for a whole process. Masks and flags of exceptions stay as they are. The class
/// works on x86 with SSE and on AArch64. On other processors it leaves the mode alone.
class default_float_mode {
 public:
  default_float_mode() : before_(mode()) { set(); }
  ~default_float_mode() {
    if (before_ != 0) [[unlikely]]
      set_mode(before_);
  }
  default_float_mode(const default_float_mode&) = delete;

  /// Sets this mode again, after code of a user may have set another one.
  static void set() {
    if (mode() != 0) [[unlikely]]
      set_mode(0);
  }

 private:
#if defined(__SSE__)
  using word = std::uint32_t;
  static constexpr word mode_bits = 0xe040;  // in MXCSR: flush to zero, rounding, denormals are zeros
  static word control() {
    word bits;
    asm volatile("stmxcsr %0" : "=m"(bits) : : "memory");
    return bits;
  }
  static void set_control(word bits) { asm volatile("ldmxcsr %0" : : "m"(bits) : "memory"); }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word mode_bits = 0x3c80007;  // in FPCR: default NaN, rounding, flush to zero, FEAT_AFP
  static word control() {
    word bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits) : : "memory");
    return bits;
  }
  static void set_control(word bits) { asm volatile("msr fpcr, %0" : : "r"(bits) : "memory"); }
#else
  using word = std::uint32_t;
  static constexpr word mode_bits = 0;
  static word control() { return 0; }
  static void set_control(word) {}
#endif
  static word mode() { return control() & mode_bits; }
  static void set_mode(word mode) { set_control((control() & ~mode_bits) | mode); }

  word before_;
};

}  // namespace cairn::kernels
