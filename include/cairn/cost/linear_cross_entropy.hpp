// Cuts a linear layer that is followed by a cross entropy into blocks of rows. The logits of one block at a time lie in
// the workspace. This file is not in kernel/, because the plan counts workspace without knowing any kernel.
#pragma once

#include "cairn/cost/blocking.hpp"

namespace cairn::costs {

/// Returns the most classes of a chunk. Longer chunks read and write the gradient of h less often. Few classes are cut
/// into shorter chunks, which threads share more evenly. A packed column of tiles with this number of steps is no
/// multiple of 4 KiB, because columns at such a distance would share few sets of the first-level cache.
constexpr int most_chunk(int classes) { return classes < 16 * 336 ? 168 : 336; }

/// The three products of a block of `rows` rows. Logits are stored transposed, {classes, rows}, for two reasons: the
/// product that makes them reads the weight {classes, features} where it lies, and rows of the transposed logits are
/// classes, which threads share in chunks. The gradient of h is a sum of products over the chunks.
struct linear_loss_products {
  product logits, weight_gradient, row_gradient;

  constexpr linear_loss_products(int rows, int classes, int features)
      : logits{classes, rows, features, false, true},
        weight_gradient{classes, features, rows, false, false},
        row_gradient{rows, features, most_chunk(classes), true, false} {}

  /// The first operands are read from a near cache or once for each block of rows, so copies of them would not pay.
  constexpr blocking logits_blocking(int bytes) const { return without_copy(logits, bytes); }
  /// A block of few rows computes a tile so fast that the memory of the tile must be fetched earlier.
  constexpr blocking weight_gradient_blocking(int bytes) const {
    blocking cut = without_copy(weight_gradient, bytes);
    cut.fetched_ahead = cut.tile_columns;
    return cut;
  }

 private:
  static constexpr blocking without_copy(product p, int bytes) {
    blocking cut = blocking_of(p, bytes);
    cut.pack_a = false;
    cut.needed_workspace = {cut.panel_numbers, cut.parts};
    return cut;
  }
};

/// A block of rows. The workspace has the logits of `section` classes at a time. The logits of one class lie `apart`
/// numbers after those of the class before it.
struct linear_loss_block {
  int rows = 0, section = 0;
  std::int64_t apart = 0;
};

/// Describes how {rows, features} times {classes, features} is cut into blocks of rows. The classes of a block are
/// handled in chunks, so that what one product has read or written is still in the second-level cache when the next
/// product reads it.
///
/// Gradients need the logits of a block a second time, after the totals of all classes are known. There are three kinds
/// of blocks:
/// - The logits of all classes stay in the workspace. Each such block reads and writes the whole gradient of the
///   weight, so the block needs some rows.
/// - If the workspace is too small for this, the logits are computed a second time, a section of classes at a time.
/// - The logits of the first block stay in the memory of the weight's gradient, which is unused until this block is
///   complete. There is room for as many rows as there are features.
struct linear_loss_blocks {
  /// A block has at most this number of rows, unless its logits are in the gradient. More rows would not save time,
  /// because the numbers of a block of features would leave the caches.
  static constexpr int most_rows = 1024;

  std::int64_t rows;
  int classes, features;
  int width, line;     ///< numbers of a register, and of a cache line
  int chunk;           ///< a section is a whole number of chunks, or all classes
  int packed_columns;  ///< columns of the weight that are packed together for the gradient of h
  bool first_in_gradient = false;
  linear_loss_block first, other, last;  ///< the first block, the last block, and all blocks between them

  /// `wanted` is the workspace for the logits in bytes. The workspace has room for two registers of rows and a chunk,
  /// so it may be larger. `has_gradient` says whether the gradient of the weight is made.
  constexpr linear_loss_blocks(std::int64_t of_rows, int of_classes, int of_features, int bytes, std::int64_t wanted,
                               bool has_gradient)
      : rows(of_rows), classes(of_classes), features(of_features), width(register_bytes / bytes), line(64 / bytes) {
    const linear_loss_products of(1, classes, features);
    const int tile_rows = blocking_of(of.logits, bytes).tile_rows;
    chunk = most_chunk(classes) / tile_rows * tile_rows;
    const int columns = blocking_of(of.row_gradient, bytes).tile_columns;
    packed_columns = std::min((features + columns - 1) / columns, 256 * 1024 / bytes / chunk / columns) * columns;

    const std::int64_t room = std::max<std::int64_t>(wanted / bytes, std::int64_t{2} * width * chunk);
    const auto most_with = [&](std::int64_t some_classes) {
      const std::int64_t fitting = room / some_classes;
      return fitting >= rows ? rows : fitting / width * width;
    };
    const std::int64_t whole = most_with(classes), in_sections = most_with(std::min(chunk, classes));
    const std::int64_t in_gradient = std::min<std::int64_t>(in_sections, features / width * width);
    first_in_gradient = has_gradient && whole < rows && in_gradient > whole;
    const std::int64_t begin = first_in_gradient ? in_gradient : 0, rest = rows - begin;
    const bool keeps = whole >= std::min<std::int64_t>(rest, least_registers * width);
    // If all rows are in the first block, there may be no room for a row with all of its logits.
    const std::int64_t most = std::max<std::int64_t>(std::min<std::int64_t>(keeps ? whole : in_sections, most_rows), 1);
    const std::int64_t blocks = (rest + most - 1) / most, even = blocks == 0 ? 0 : (rest + blocks - 1) / blocks;
    const std::int64_t each = std::min(rest, (even + width - 1) / width * width);

    const std::int64_t room_of_thread = chunk * apart(std::max(begin, each));
    const auto block = [&](std::int64_t some_rows) {
      const std::int64_t distance = apart(some_rows);
      const std::int64_t chunks = std::max<std::int64_t>((room - room_of_thread) / distance / chunk, 1);
      const bool has_all = some_rows * classes <= room || chunks * chunk >= classes;
      return linear_loss_block{static_cast<int>(some_rows), has_all ? classes : static_cast<int>(chunks * chunk),
                               distance};
    };
    other = block(rest == 0 ? begin : each);
    last = block(rest == 0 ? begin : rest - (rest - 1) / each * each);
    first = first_in_gradient ? block(begin) : rows > each ? other : last;
  }

  /// Returns the block that begins at a row.
  constexpr const linear_loss_block& block_at(std::int64_t row) const {
    return row == 0 ? first : row + other.rows < rows ? other : last;
  }
  /// Rounds a number of columns up to whole registers.
  constexpr int filled(int columns) const { return (columns + width - 1) / width * width; }
  constexpr int chunks_of(int some_classes) const { return (some_classes + chunk - 1) / chunk; }
  /// Rounds a number up to whole cache lines.
  constexpr std::int64_t padded(std::int64_t numbers) const { return (numbers + line - 1) / line * line; }
  /// Return how many numbers all threads share: the logits of a section, and after them two numbers for each row and
  /// chunk and `arrays` numbers for each row.
  static constexpr int arrays = 6;
  constexpr std::int64_t logit_numbers(const linear_loss_block& b) const { return padded(b.section * b.apart); }
  constexpr std::int64_t row_numbers(const linear_loss_block& b) const {
    return (2 * chunks_of(b.section) + arrays) * padded(b.rows);
  }
  /// Returns how many numbers a thread has for the gradient of the logits of a chunk.
  constexpr std::int64_t chunk_numbers(const linear_loss_block& b) const {
    return padded(std::min(chunk, classes) * b.apart);
  }

  constexpr workspace needed(int bytes) const {
    workspace all;
    for (const linear_loss_block& b : {first, other, last}) {
      all.shared = std::max(all.shared, logit_numbers(b) + row_numbers(b));
      const linear_loss_products of(b.rows, classes, features);
      for (const blocking& cut : {of.logits_blocking(bytes), of.weight_gradient_blocking(bytes)})
        all.each = std::max(all.each, chunk_numbers(b) + cut.needed_workspace.each);
      const int columns = blocking_of(of.row_gradient, bytes).tile_columns;
      all.each =
          std::max(all.each, std::int64_t{std::min(chunk, classes)} * filled(std::min(features, packed_columns)));
      all.parts = std::max({all.parts, parts(b, chunks_of(b.section)), parts(b, (features + columns - 1) / columns)});
    }
    return all;
  }
  /// Returns how many threads share a product of a section, which has `units` parts.
  constexpr int parts(const linear_loss_block& b, int units) const {
    return parts_of(std::int64_t{2} * b.rows * b.section * features, units);
  }

 private:
  /// A block whose logits are kept in the workspace has at least this number of registers of rows, unless it has all
  /// rows. With fewer rows, moving the gradient of the weight would take longer than a further product.
  static constexpr int least_registers = 4;

  /// Logits at distances of a multiple of 1024 bytes would share few sets of the first-level cache.
  constexpr std::int64_t apart(std::int64_t of_rows) const {
    return of_rows % (16 * line) == 0 ? of_rows + line : of_rows;
  }
};

}  // namespace cairn::costs
