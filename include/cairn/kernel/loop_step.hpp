// A plan step of a fused loop and a kernel that share it.
#pragma once

#include "cairn/kernel/launch.hpp"
#include "cairn/kernel/loop.hpp"

namespace cairn::kernels {

/// The constants of a plan step, which is a fused loop, a kernel, or both. If the plan step has both, the operands of
/// the fused loop come first, and those of the kernel follow. The first result of a kernel that passes tiles has the
/// address of the first result that the fused loop stores.
struct step_table {
  loop_table loop;
  launch how;                               ///< for the kernel, apart from its threads and from the fused loop
  graphs::kernel_pointer kernel = nullptr;  ///< the kernel, if it shares the plan step with a fused loop
  int loop_operands = 0;
};
/// Runs a kernel that computes the first value of the fused loop in tiles.
template <class Loop>
void run_with_tiles(const void* constants, void* const* operands, int threads) {
  const step_table& t = *static_cast<const step_table*>(constants);
  const tile_reader reader{&Loop::run_tile, &Loop::fetch_tile, &t.loop, operands};
  launch how = t.how;
  how.reader = &reader;
  t.kernel(&how, operands + t.loop_operands, threads);
}
/// Runs a kernel and a fused loop that share rows. The fused loop computes rows that the kernel reads, or, if `Follows`
/// is true, follows the kernel through the rows.
template <class Loop, bool Follows>
void run_with_rows(const void* constants, void* const* operands, int threads) {
  const step_table& t = *static_cast<const step_table*>(constants);
  const row_maker maker{&Loop::make_rows, &t.loop, operands, Follows};
  launch how = t.how;
  how.maker = &maker;
  t.kernel(&how, operands + t.loop_operands, threads);
}

}  // namespace cairn::kernels
