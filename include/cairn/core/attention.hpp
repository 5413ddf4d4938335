// Attention: how queries look at keys, and into which tiles both are cut. Here, and not with the kernel, for the plan
// counts work and working space without knowing any kernel.
#pragma once

#include "cairn/core/blocking.hpp"
#include "cairn/core/shape.hpp"

#include <utility>

namespace cairn {

namespace nn {
/// What a layer of attention may have beside its heads.
struct attention_options {
  bool causal = false;
  int key_heads = 0;   ///< of keys and values: each for as many heads of queries; 0: as many
  double dropout = 0;  ///< of weights

  friend constexpr bool operator==(const attention_options&, const attention_options&) = default;
};
}  // namespace nn

/// Keys of a row of draws: a multiple of what kernels draw at once, in registers of any width.
constexpr std::int64_t drawn_keys(int keys) { return (std::int64_t{keys} + 31) / 32 * 32; }

/// What stands beside queries, keys and values: nothing, what says where to look, or what is added to scores.
enum class masking : std::uint8_t { none, whole, real };

/// How queries look at keys. Causal: query t at keys up to t alone.
struct attending {
  bool causal = false;
  masking mask = masking::none;
  double dropout = 0;

  friend constexpr bool operator==(const attending&, const attending&) = default;
};

/// Queries {batch, queries, heads, depth} at keys {batch, keys, key_heads, depth}, and values as many, of value_depth.
struct attention_extents {
  int batch = 0, queries = 0, keys = 0, heads = 0, key_heads = 0, depth = 0, value_depth = 0;
  bool causal = false;

  constexpr attention_extents(const shape& q, const shape& k, const shape& v, bool is_causal)
      : batch(q[0]),
        queries(q[1]),
        keys(k[1]),
        heads(q[2]),
        key_heads(k[2]),
        depth(q[3]),
        value_depth(v[3]),
        causal(is_causal) {}

  constexpr int group() const { return heads / key_heads; }
  constexpr int shared_heads() const { return batch * key_heads; }
  /// Pairs of a query and a key that it may look at.
  constexpr std::int64_t pairs() const {
    const std::int64_t each = std::min(queries, keys), beyond = queries - each;
    const std::int64_t seen = causal ? each * (each + 1) / 2 + beyond * keys : std::int64_t{queries} * keys;
    return seen * batch * heads;
  }
};

/// The tiles of an attention, and the working space of each thread: scores of a tile of queries by a tile of keys, and
/// copies of what products read, which lies a line of all heads apart.
struct attention_tiles {
  static constexpr int tile_rows = register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4;  ///< of products
  static constexpr int most = 96;  ///< queries, and keys, of a tile of scores: whole tiles of products either way
  static_assert(most % 32 == 0 && most % tile_rows == 0);
  int width;          ///< of a register, in numbers
  int queries, keys;  ///< of a tile of scores
  int key_rows;       ///< of what is one row for each key of a tile
  int sum_rows;       ///< of gradients of keys: of a tile, or, where heads share keys and so add to the same, of all
  int depth, value_depth;  ///< of a row, in whole registers

  constexpr attention_tiles(const attention_extents& of, int bytes)
      : width(register_bytes / bytes),
        queries(even_blocks(of.queries, most, tile_rows)),
        keys(in_registers(std::min(most, in_rows(of.keys)))),
        key_rows(std::min(most, of.keys)),
        sum_rows(in_rows(of.group() == 1 ? key_rows : of.keys)),
        depth(in_registers(of.depth)),
        value_depth(in_registers(of.value_depth)) {}

  constexpr int query_tiles(const attention_extents& of) const { return (of.queries + queries - 1) / queries; }
  constexpr int key_tiles(const attention_extents& of) const { return (of.keys + keys - 1) / keys; }
  /// In whole registers, and in whole rows of tiles.
  constexpr int in_registers(int n) const { return (n + width - 1) / width * width; }
  constexpr int in_rows(int n) const { return (n + tile_rows - 1) / tile_rows * tile_rows; }

  /// Where the parts of the working space lie: pointers, or, to count, numbers from its beginning.
  template <class At>
  struct forward_space {
    At keys, values;                           ///< of a head, the first transposed
    At queries, sums, scores, largest, total;  ///< of a tile of queries; a total for each lane
    At end;
  };
  template <class At>
  struct backward_space {
    At queries, results, of_queries;  ///< of a head: scaled, the gradients of results and of queries
    At of_keys, of_values;            ///< sums
    At keys, values, rows_of_keys;    ///< of a tile of keys, the first two transposed
    At weights, slopes;               ///< of a tile of scores
    At end;
  };
  template <class At = std::int64_t>
  constexpr forward_space<At> forward(const attention_extents& of, At at = 0) const {
    const auto take = [&at](std::int64_t rows, int columns) { return std::exchange(at, at + rows * columns); };
    return {.keys = take(in_registers(of.keys), of.depth),
            .values = take(of.keys, value_depth),
            .queries = take(queries, depth),
            .sums = take(queries, value_depth),
            .scores = take(queries, keys),
            .largest = take(in_registers(queries), 1),
            .total = take(queries, width),
            .end = at};
  }
  template <class At = std::int64_t>
  constexpr backward_space<At> backward(const attention_extents& of, At at = 0) const {
    const auto take = [&at](std::int64_t rows, int columns) { return std::exchange(at, at + rows * columns); };
    return {.queries = take(in_rows(of.queries), depth),
            .results = take(in_rows(of.queries), value_depth),
            .of_queries = take(in_rows(of.queries), depth),
            .of_keys = take(sum_rows, depth),
            .of_values = take(sum_rows, value_depth),
            .keys = take(in_registers(key_rows), of.depth),
            .values = take(in_registers(key_rows), of.value_depth),
            .rows_of_keys = take(key_rows, depth),
            .weights = take(queries, keys),
            .slopes = take(queries, keys),
            .end = at};
  }
};

}  // namespace cairn
