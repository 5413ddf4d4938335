// Attention: how queries look at keys, and into which tiles both are cut. Here, and not with the kernel, for the plan
// counts work and working space without knowing any kernel.
#pragma once

#include "cairn/cost/blocking.hpp"
#include "cairn/base/shape.hpp"

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
/// copies of what products read, which lies a line of all heads apart. Copies of bf16 are of these, in pairs, where the
/// processor multiplies pairs; else of floats. Sums and scores of bf16 are floats.
struct attention_tiles {
  static constexpr int tile_rows = register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4;  ///< of products
  static constexpr int most = 96;  ///< queries, and keys, of a tile of scores: whole tiles of products either way
  static_assert(most % 32 == 0 && most % tile_rows == 0 && tile_rows % 2 == 0);
  bool pairs;          ///< what products read
  int sum_numbers;     ///< what a sum takes of the working space, which is counted in numbers of the type that is read
  int copied_numbers;  ///< the same of what is copied
  int width;           ///< of a register, in sums
  int queries, keys;   ///< of a tile of scores
  int key_rows;        ///< of what is one row for each key of a tile
  int sum_rows;        ///< of gradients of keys: of a tile, or, where heads share keys and so add to the same, of all
  int depth, value_depth;  ///< of a row, in whole registers

  constexpr attention_tiles(const attention_extents& of, int bytes)
      : pairs(bytes == 2 && multiplies_bf16),
        sum_numbers(bytes == 2 ? 2 : 1),
        copied_numbers(pairs ? 1 : sum_numbers),
        width(register_bytes / (sum_numbers * bytes)),
        queries(even_blocks(of.queries, most, tile_rows)),
        keys(in_registers(std::min(most, in_rows(of.keys)))),
        key_rows(std::min(most, of.keys)),
        sum_rows(in_rows(of.group() == 1 ? key_rows : of.keys)),
        depth(in_registers(of.depth)),
        value_depth(in_registers(of.value_depth)) {}

  constexpr int query_tiles(const attention_extents& of) const { return (of.queries + queries - 1) / queries; }
  constexpr int key_tiles(const attention_extents& of) const { return (of.keys + keys - 1) / keys; }
  /// In whole registers, in whole rows of tiles, and in whole steps of products.
  constexpr int in_registers(int n) const { return (n + width - 1) / width * width; }
  constexpr int in_rows(int n) const { return (n + tile_rows - 1) / tile_rows * tile_rows; }
  constexpr int in_steps(int n) const { return pairs ? n + n % 2 : n; }

  /// Where the parts of the working space lie: pointers to copies and to sums, or, to count, numbers from its
  /// beginning.
  template <class Copy, class Sum>
  struct forward_space {
    Copy keys, values;                    ///< of a head, both as steps of products: of keys one for each number of them
    Copy queries;                         ///< of a tile of queries
    Sum sums, scores, largest, total;     ///< the same; a total for each lane
    Sum end;
  };
  template <class Copy, class Sum>
  struct backward_space {
    Copy queries, results;         ///< of a head: with the gradients of results
    Sum of_queries;                ///< of a head
    Sum of_keys, of_values;        ///< sums
    Copy keys, values;             ///< of a tile of keys, as steps: one for each number of a key
    Copy steps_of_keys;            ///< the same, one for each key
    Sum weights, slopes;           ///< of a tile of scores
    /// Where rows are no steps, for they are multiplied in pairs: as steps, one for each two queries.
    Copy steps_of_queries, steps_of_results, steps_of_weights, steps_of_slopes;
    Sum end;
  };
  template <class Copy = std::int64_t, class Sum = std::int64_t, class At = std::int64_t>
  constexpr forward_space<Copy, Sum> forward(const attention_extents& of, At at = 0) const {
    return {.keys = take<Copy>(at, in_registers(of.keys), in_steps(of.depth)),
            .values = take<Copy>(at, in_steps(of.keys), value_depth),
            .queries = take<Copy>(at, queries, depth),
            .sums = take_sums<Sum>(at, queries, value_depth),
            .scores = take_sums<Sum>(at, queries, keys),
            .largest = take_sums<Sum>(at, in_registers(queries), 1),
            .total = take_sums<Sum>(at, queries, width),
            .end = take_sums<Sum>(at, 0, 0)};
  }
  template <class Copy = std::int64_t, class Sum = std::int64_t, class At = std::int64_t>
  constexpr backward_space<Copy, Sum> backward(const attention_extents& of, At at = 0) const {
    const int all = in_rows(of.queries), again = pairs ? in_steps(of.queries) : 0, scores_again = pairs ? queries : 0;
    return {.queries = take<Copy>(at, all, depth),
            .results = take<Copy>(at, all, value_depth),
            .of_queries = take_sums<Sum>(at, all, depth),
            .of_keys = take_sums<Sum>(at, sum_rows, depth),
            .of_values = take_sums<Sum>(at, sum_rows, value_depth),
            .keys = take<Copy>(at, in_registers(key_rows), in_steps(of.depth)),
            .values = take<Copy>(at, in_registers(key_rows), in_steps(of.value_depth)),
            .steps_of_keys = take<Copy>(at, in_steps(key_rows), depth),
            .weights = take_sums<Sum>(at, queries, keys),
            .slopes = take_sums<Sum>(at, queries, keys),
            .steps_of_queries = take<Copy>(at, again, depth),
            .steps_of_results = take<Copy>(at, again, value_depth),
            .steps_of_weights = take<Copy>(at, scores_again, keys),
            .steps_of_slopes = take<Copy>(at, scores_again, keys),
            .end = take_sums<Sum>(at, 0, 0)};
  }

 private:
  template <class To, class At>
  constexpr To take(At& at, std::int64_t rows, int columns) const {
    return part<To>(std::exchange(at, at + rows * columns * copied_numbers));
  }
  template <class To, class At>
  constexpr To take_sums(At& at, std::int64_t rows, int columns) const {
    return part<To>(std::exchange(at, at + rows * columns * sum_numbers));
  }
  template <class To, class At>
  static constexpr To part(At at) {
    if constexpr (std::is_pointer_v<To>) return static_cast<To>(static_cast<void*>(at));
    else return at;
  }
};

}  // namespace cairn
