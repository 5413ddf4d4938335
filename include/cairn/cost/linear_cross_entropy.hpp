// Cuts a linear layer that is followed by a cross entropy into blocks of rows. The logits of one block at a time lie in
// the workspace. This file is not in kernel/, because the plan counts workspace without knowing any kernel.
#pragma once

#include "cairn/cost/blocking.hpp"

namespace cairn::costs {

/// The three products of a block of `rows` rows. Logits are stored transposed, {classes, rows}, for two reasons: the
/// product that makes them reads the weight {classes, features} where it lies, and rows of the transposed logits are
/// classes, which threads and sections share.
struct linear_loss_products {
  product logits, weight_gradient, row_gradient;

  constexpr linear_loss_products(int rows, int classes, int features)
      : logits{classes, rows, features, false, true},
        weight_gradient{classes, features, rows, false, false},
        row_gradient{rows, features, classes, true, false} {}
};

/// Describes how {rows, features} times {classes, features} is cut. Each block has `block_rows` rows, and the last
/// block has `last_rows` rows. The classes of a block are handled in sections of `section` classes, so that a section
/// of the weight is still in the second-level cache when the next product reads it.
struct linear_loss_blocks {
  /// A block has at most this number of rows. More rows would not save time, because the numbers of a block of
  /// features would leave the caches.
  static constexpr int most_rows = 1024;

  std::int64_t rows;
  int classes, features;
  int block_rows, last_rows, section;

  /// `wanted` is the workspace for the logits in bytes. A block has at least two registers of rows, so the workspace
  /// of very many classes may be larger.
  constexpr linear_loss_blocks(std::int64_t of_rows, int of_classes, int of_features, int bytes, std::int64_t wanted)
      : rows(of_rows), classes(of_classes), features(of_features) {
    const int width = register_bytes / bytes;
    const std::int64_t fitting = wanted / (std::int64_t{classes} * bytes) / width * width;
    const std::int64_t most = std::clamp<std::int64_t>(fitting, 2 * width, most_rows);
    const std::int64_t blocks = (rows + most - 1) / most;
    const std::int64_t even = (rows + blocks - 1) / blocks;
    block_rows = static_cast<int>(std::min(rows, (even + width - 1) / width * width));
    last_rows = static_cast<int>(rows - (rows - 1) / block_rows * block_rows);
    const int tile = blocking_of(linear_loss_products(block_rows, classes, features).logits, bytes).tile_rows;
    section = std::clamp(128 * 1024 / features, 48, 384) / tile * tile;
  }

  constexpr int sections() const { return (classes + section - 1) / section; }
  /// Returns the number of rows of a block, rounded up to whole cache lines.
  constexpr int padded_rows() const { return (block_rows + 15) / 16 * 16; }
  /// Return how many numbers all threads share: the logits of a block, and after them two numbers for each row and
  /// section and `arrays` numbers for each row.
  static constexpr int arrays = 4;
  constexpr std::int64_t logit_numbers() const { return (std::int64_t{classes} * block_rows + 15) / 16 * 16; }
  constexpr std::int64_t row_numbers() const { return std::int64_t{2 * sections() + arrays} * padded_rows(); }

  constexpr workspace needed(int bytes) const {
    workspace all{.parts = 1, .shared = logit_numbers() + row_numbers()};
    std::int64_t open = 0;
    for (const int some : {block_rows, last_rows}) {
      const linear_loss_products of(some, classes, features);
      for (const product& p : {of.logits, of.weight_gradient, of.row_gradient}) {
        const workspace one = blocking_of(p, bytes).needed_workspace;
        all.each = std::max(all.each, (one.each + one.block + 31) / 32 * 32);
        if (p == of.row_gradient) open = std::max(open, one.shared);
      }
      all.parts = std::max({all.parts, section_parts(of.logits), blocking_of(of.row_gradient, bytes).parts});
    }
    all.shared += open;
    return all;
  }
  /// Returns how many threads share the sections of a product.
  constexpr int section_parts(const product& p) const {
    return parts_of(std::int64_t{2} * p.m * p.n * p.k, sections());
  }
};

}  // namespace cairn::costs
