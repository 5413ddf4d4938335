// Cuts a linear layer that is followed by a cross entropy into blocks of rows. The logits of one block at a time lie in
// the workspace. This file is not in kernel/, because the plan counts workspace without knowing any kernel.
#pragma once

#include "cairn/cost/blocking.hpp"

namespace cairn::costs {

/// The most classes of a chunk. A packed column of tiles with this number of steps is no multiple of 4 KiB, because
/// columns at such a distance would share few sets of the first-level cache.
inline constexpr int most_chunk = 168;

/// The three products of a block of `rows` rows. Logits are stored transposed, {classes, rows}, for two reasons: the
/// product that makes them reads the weight {classes, features} where it lies, and rows of the transposed logits are
/// classes, which threads share in chunks. The gradient of h is a sum of products over the chunks.
struct linear_loss_products {
  product logits, weight_gradient, row_gradient;

  constexpr linear_loss_products(int rows, int classes, int features)
      : logits{classes, rows, features, false, true},
        weight_gradient{classes, features, rows, false, false},
        row_gradient{rows, features, most_chunk, true, false} {}

  /// The weight is read once for each block of rows, so a copy of it would not pay.
  constexpr blocking logits_blocking(int bytes) const {
    blocking cut = blocking_of(logits, bytes);
    cut.pack_a = false;
    cut.needed_workspace = {cut.panel_numbers, cut.parts};
    return cut;
  }
  /// A block of few rows computes a tile so fast that the memory of the tile must be fetched earlier.
  constexpr blocking weight_gradient_blocking(int bytes) const {
    blocking cut = blocking_of(weight_gradient, bytes);
    cut.fetched_ahead = cut.tile_columns;
    return cut;
  }
};

/// Describes how {rows, features} times {classes, features} is cut. Each block has `block_rows` rows, and the last
/// block has `last_rows` rows. The classes of a block are handled in chunks of `chunk` classes, so that what one
/// product has read or written is still in the second-level cache when the next product reads it.
struct linear_loss_blocks {
  /// A block has at most this number of rows. More rows would not save time, because the numbers of a block of
  /// features would leave the caches.
  static constexpr int most_rows = 1024;

  std::int64_t rows;
  int classes, features;
  int block_rows, last_rows, chunk;
  int width, line;     ///< numbers of a register, and of a cache line
  int packed_columns;  ///< columns of the weight that are packed together for the gradient of h

  /// `wanted` is the workspace for the logits in bytes. A block has at least two registers of rows, so the workspace
  /// of very many classes may be larger.
  constexpr linear_loss_blocks(std::int64_t of_rows, int of_classes, int of_features, int bytes, std::int64_t wanted)
      : rows(of_rows), classes(of_classes), features(of_features), width(register_bytes / bytes), line(64 / bytes) {
    const std::int64_t fitting = wanted / (std::int64_t{classes} * bytes) / width * width;
    const std::int64_t most = std::clamp<std::int64_t>(fitting, 2 * width, most_rows);
    const std::int64_t blocks = (rows + most - 1) / most;
    const std::int64_t even = (rows + blocks - 1) / blocks;
    block_rows = static_cast<int>(std::min(rows, (even + width - 1) / width * width));
    last_rows = static_cast<int>(rows - (rows - 1) / block_rows * block_rows);
    const linear_loss_products of(block_rows, classes, features);
    chunk = most_chunk / blocking_of(of.logits, bytes).tile_rows * blocking_of(of.logits, bytes).tile_rows;
    const int columns = blocking_of(of.row_gradient, bytes).tile_columns;
    packed_columns = std::min((features + columns - 1) / columns, 256 * 1024 / bytes / chunk / columns) * columns;
  }

  /// Rounds a number of columns up to whole registers.
  constexpr int filled(int columns) const { return (columns + width - 1) / width * width; }
  constexpr int chunks() const { return (classes + chunk - 1) / chunk; }
  /// Returns the number of rows of a block, rounded up to whole cache lines.
  constexpr int padded_rows() const { return (block_rows + line - 1) / line * line; }
  /// Return how many numbers all threads share: the logits of a block, and after them two numbers for each row and
  /// chunk and `arrays` numbers for each row.
  static constexpr int arrays = 4;
  constexpr std::int64_t logit_numbers() const { return (std::int64_t{classes} * block_rows + line - 1) / line * line; }
  constexpr std::int64_t row_numbers() const { return std::int64_t{2 * chunks() + arrays} * padded_rows(); }

  constexpr workspace needed(int bytes) const {
    workspace all{.parts = 1, .shared = logit_numbers() + row_numbers()};
    for (const int some : {block_rows, last_rows}) {
      const linear_loss_products of(some, classes, features);
      for (const blocking& cut : {of.logits_blocking(bytes), of.weight_gradient_blocking(bytes)}) {
        const workspace one = cut.needed_workspace;
        all.each = std::max(all.each, one.each + one.block);
      }
      const int columns = blocking_of(of.row_gradient, bytes).tile_columns;
      all.each =
          std::max(all.each, std::int64_t{std::min(chunk, classes)} * filled(std::min(features, packed_columns)));
      all.parts = std::max({all.parts, parts(some, chunks()), parts(some, (features + columns - 1) / columns)});
    }
    return all;
  }
  /// Returns how many threads share a product of a block, which has `units` parts.
  constexpr int parts(int of_rows, int units) const {
    return parts_of(std::int64_t{2} * of_rows * classes * features, units);
  }
};

}  // namespace cairn::costs
