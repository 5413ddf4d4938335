// Computes matrix products of bf16 with AMX, the matrix instructions of x86. A processor with AMX has eight tile
// registers for each thread. A tile register has 16 rows of 64 bytes. Here four tile registers hold sums, two hold
// numbers of A, and two hold numbers of B.
//
// One instruction multiplies 32 numbers along k, which are 16 pairs. The processor sums the products of the first
// numbers of all pairs, and it sums the products of the second numbers of all pairs. It adds both sums, and then it
// adds the result to the number in the tile register. Each product is added with one rounding. Denormal numbers count
// as zeros.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/cost/target.hpp"
#include "cairn/kernel/product_tiles.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

namespace cairn::kernels {

/// Asks the system for permission to use the tile registers, once in a process. Throws program_error if the system does
/// not give it.
inline void request_tile_registers() {
  static const bool lent = [] {
    constexpr long ask = 0x1023, tell = 0x1022, tiles = 18;  // ARCH_REQ_XCOMP_PERM, ARCH_GET_XCOMP_PERM, XTILEDATA
    unsigned long all = 0;
    return ::syscall(SYS_arch_prctl, ask, tiles) == 0 && ::syscall(SYS_arch_prctl, tell, &all) == 0 &&
           (all >> tiles & 1U) != 0;
  }();
  if (!lent)
    refuse(program_error(
        "cairn: this program multiplies bf16 by AMX, of which the system lends no tiles; it needs Linux 5.16 and a "
        "processor with AMX, or else to be compiled with -mno-amx-tile"));
}

/// The shapes of the tile registers, in the layout that the processor's instruction for their configuration reads.
struct alignas(64) tile_shapes {
  std::uint8_t palette = 1, begin = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
/// Configures the thread's tile registers while the object exists: each tile register has all of its rows. The
/// constructor throws program_error if the system does not lend tile registers.
class whole_tiles {
  static constexpr tile_shapes whole{};

 public:
  whole_tiles() {
    request_tile_registers();
    _tile_loadconfig(&whole);
  }
  ~whole_tiles() { _tile_release(); }
  whole_tiles(const whole_tiles&) = delete;
};

/// Computes a column of tiles as tiles_in_registers does, but in tile registers. A tile has 16 or 32 rows, and 16 or 32
/// columns. After its last row, A is filled up with zeros, and the sums of the filled rows are not written.
template <int Rows, int Registers, bool RowsApart>
void column_by_amx(const bf16* a, const bf16* b, const tile_source& from, const tile_target<float>& to, int row,
                   int column, int columns, int height) {
  constexpr int width = lanes<float>::width, in_step = 2 * width, bytes = sizeof(bf16);
  // A tile of C takes two tile registers of rows if `two_row_tiles`, and two of columns if `two_column_tiles`.
  constexpr bool two_row_tiles = Rows > width, two_column_tiles = Registers > 1;
  const std::int64_t row_a = RowsApart ? from.apart : in_step, step_a = RowsApart ? in_step : from.apart;
  const std::int64_t row_b = from.step_b / width;
  asm volatile("" ::: "memory");  // g++ does not know that loads of tile registers read the packed numbers
  for (const int bottom = row + height; row < bottom; row += Rows, a += from.below) {
    const int rows = std::min(Rows, bottom - row);
    if (to.far) to.fetch_tile(row, column, rows, columns);
    _tile_zero(0);
    if constexpr (two_column_tiles) _tile_zero(1);
    if constexpr (two_row_tiles) _tile_zero(2);
    if constexpr (two_row_tiles && two_column_tiles) _tile_zero(3);
    const bf16 *at_a = a, *at_b = b;
    for (int p = 0; p < from.steps; ++p, at_a += step_a, at_b += from.step_b) {
      _tile_loadd(4, at_a, row_a * bytes);
      if constexpr (two_row_tiles) _tile_loadd(5, at_a + width * row_a, row_a * bytes);
      _tile_loadd(6, at_b, row_b * bytes);
      if constexpr (two_column_tiles) _tile_loadd(7, at_b + in_step, row_b * bytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (two_column_tiles) _tile_dpbf16ps(1, 4, 7);
      if constexpr (two_row_tiles) _tile_dpbf16ps(2, 5, 6);
      if constexpr (two_row_tiles && two_column_tiles) _tile_dpbf16ps(3, 5, 7);
    }
    constexpr int stride = Registers * width;
    const bool direct = to.reader == nullptr && !to.add && rows == Rows && columns == stride;
    alignas(64) float tile[Rows * stride];
    float* const out = direct ? to.at(row, column) : tile;
    const std::int64_t apart = direct ? to.apart : stride;
    _tile_stored(0, out, apart * 4);
    if constexpr (two_column_tiles) _tile_stored(1, out + width, apart * 4);
    if constexpr (two_row_tiles) _tile_stored(2, out + width * apart, apart * 4);
    if constexpr (two_row_tiles && two_column_tiles) _tile_stored(3, out + width * apart + width, apart * 4);
    if (!direct) to.finish_tile(tile, stride, row, column, rows, columns);
  }
}

template <>
struct product_numbers<bf16> {
  using in = bf16;
  using sum = float;
  using packed = bf16;
  using setting = whole_tiles;
  static constexpr int in_step = 2 * lanes<float>::width;

  template <int Rows, int Registers, bool RowsApart>
  static constexpr auto column = &column_by_amx<Rows, Registers, RowsApart>;
  template <int Rows, int Registers, bool RowsApart>
  static void tiles(const auto&... arguments) {
    column_by_amx<Rows, Registers, RowsApart>(arguments...);
  }
};

}  // namespace cairn::kernels
#else
namespace cairn::kernels {
inline void request_tile_registers() {}
}  // namespace cairn::kernels
#endif
