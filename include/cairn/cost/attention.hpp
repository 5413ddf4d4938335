// Extents of attention: which keys each query sees, and into which tiles queries and keys are cut. This file is not in
// kernel/, because the plan counts work and workspace without knowing any kernel.
#pragma once

#include "cairn/base/shape.hpp"
#include "cairn/cost/blocking.hpp"

#include <utility>

namespace cairn::costs {

/// Returns the number of random words for one query's row of `keys` keys: `keys`, rounded up to a multiple of 32.
/// Kernels draw several words at once, and 32 is a multiple of that number for registers of any width.
constexpr std::int64_t drawn_keys(int keys) { return (std::int64_t{keys} + 31) / 32 * 32; }

/// The kind of mask that an attention has: none, a mask of whole numbers that says which keys a query sees, or a mask
/// of real numbers that is added to the scores.
enum class masking : std::uint8_t { none, whole, real };

/// Describes which keys a query sees, and with which probability a weight is dropped. If the attention is causal, query
/// t sees only the keys 0 to t.
struct attending {
  bool causal = false;
  masking mask = masking::none;
  double dropout = 0;

  friend constexpr bool operator==(const attending&, const attending&) = default;
};

/// Extents of an attention. The queries have the shape {batch, queries, heads, depth}, the keys
/// {batch, keys, key_heads, depth}, and the values {batch, keys, key_heads, value_depth}.
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
  /// Returns the number of pairs of a query and a key that the query may see, in all heads.
  constexpr std::int64_t pairs() const {
    const std::int64_t each = std::min(queries, keys), beyond = queries - each;
    const std::int64_t seen = causal ? each * (each + 1) / 2 + beyond * keys : std::int64_t{queries} * keys;
    return seen * batch * heads;
  }
};

/// The tiles of an attention, and the workspace of each thread.
///
/// The workspace holds the scores of a tile of queries by a tile of keys, and copies of the operands of products. The
/// operands are copied because neighbouring rows of one head are a row of all heads apart in memory. If the operands
/// are bf16 and the processor multiplies pairs of bf16, the copies are pairs of bf16. Other copies of bf16 are floats.
/// Sums and scores of bf16 are floats, too.
///
/// A step of a product is one number along the product's inner axis, or two numbers if pairs are multiplied. An operand
/// that is copied "as steps" has a row for each step.
struct attention_tiles {
  static constexpr int tile_rows = most_tile_rows;  ///< of a product's tile
  /// The most queries, and the most keys, of a tile of scores. Both consist of whole tiles of products.
  static constexpr int most_tile_length = 96;
  static_assert(most_tile_length % 32 == 0 && most_tile_length % tile_rows == 0 && tile_rows % 2 == 0);
  bool pairs;  ///< products read pairs of bf16
  /// The memory that a sum, or a copied number, takes. The unit is a number of the type that the kernel reads, because
  /// that is the unit of the workspace.
  int sum_numbers;
  int copied_numbers;
  int width;          ///< sums in a register
  int queries, keys;  ///< queries and keys of a tile of scores
  int key_rows;       ///< rows of a copy that has a row for each key of a tile
  /// Rows of the sums that become gradients of keys and values: the keys of a tile. If several heads share keys, the
  /// gradients of these heads are added to the same sums, so there is a row for every key.
  int sum_rows;
  int depth, value_depth;  ///< numbers of a row, rounded up to whole registers

  constexpr attention_tiles(const attention_extents& of, int bytes)
      : pairs(bytes == 2 && multiplies_bf16),
        sum_numbers(bytes == 2 ? 2 : 1),
        copied_numbers(pairs ? 1 : sum_numbers),
        width(register_bytes / (sum_numbers * bytes)),
        queries(even_blocks(of.queries, most_tile_length, tile_rows)),
        keys(in_registers(std::min(most_tile_length, in_rows(of.keys)))),
        key_rows(std::min(most_tile_length, of.keys)),
        sum_rows(in_rows(of.group() == 1 ? key_rows : of.keys)),
        depth(in_registers(of.depth)),
        value_depth(in_registers(of.value_depth)) {}

  constexpr int query_tiles(const attention_extents& of) const { return (of.queries + queries - 1) / queries; }
  constexpr int key_tiles(const attention_extents& of) const { return (of.keys + keys - 1) / keys; }
  /// Round `n` up to whole registers, to whole tiles of rows, and to whole steps of products.
  constexpr int in_registers(int n) const { return (n + width - 1) / width * width; }
  constexpr int in_rows(int n) const { return (n + tile_rows - 1) / tile_rows * tile_rows; }
  constexpr int in_steps(int n) const { return pairs ? n + n % 2 : n; }

  /// The addresses of the parts of the workspace. Copy and Sum are pointers to copies and to sums. If the workspace is
  /// only counted, they are integers: the distance from its beginning in numbers.
  template <class Copy, class Sum>
  struct forward_space {
    /// The keys and the values of a head, as steps. The keys have a step for each number of a key. The values have a
    /// step for each value.
    Copy keys, values;
    Copy queries;  ///< the queries of a tile
    /// For a tile of queries: weighted sums of values, the scores, the largest score of each query, and its total of
    /// weights. The total has a number for each lane of a register.
    Sum sums, scores, largest, total;
    Sum end;
  };
  template <class Copy, class Sum>
  struct backward_space {
    Copy queries, result_gradients;      ///< of a head: the queries, and the gradients of the results
    Sum query_gradients;                 ///< sums that become the gradients of a head's queries
    Sum key_gradients, value_gradients;  ///< sums that become the gradients of keys and values
    Copy keys, values;                   ///< of a tile of keys, as steps: one for each number of a key or value
    Copy steps_of_keys;                  ///< of a tile of keys, as steps: one for each key
    Sum weights, score_gradients;        ///< of a tile of scores: the weights, and the gradients of the scores
    /// Operands as steps along queries. These copies are needed only if pairs are multiplied, because a step then has
    /// the numbers of two queries. Otherwise a row is a step already.
    Copy steps_of_queries, steps_of_result_gradients, steps_of_weights, steps_of_score_gradients;
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
            .result_gradients = take<Copy>(at, all, value_depth),
            .query_gradients = take_sums<Sum>(at, all, depth),
            .key_gradients = take_sums<Sum>(at, sum_rows, depth),
            .value_gradients = take_sums<Sum>(at, sum_rows, value_depth),
            .keys = take<Copy>(at, in_registers(key_rows), in_steps(of.depth)),
            .values = take<Copy>(at, in_registers(key_rows), in_steps(of.value_depth)),
            .steps_of_keys = take<Copy>(at, in_steps(key_rows), depth),
            .weights = take_sums<Sum>(at, queries, keys),
            .score_gradients = take_sums<Sum>(at, queries, keys),
            .steps_of_queries = take<Copy>(at, again, depth),
            .steps_of_result_gradients = take<Copy>(at, again, value_depth),
            .steps_of_weights = take<Copy>(at, scores_again, keys),
            .steps_of_score_gradients = take<Copy>(at, scores_again, keys),
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

}  // namespace cairn::costs
