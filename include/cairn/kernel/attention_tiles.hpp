// Declares the parts that attention and its gradients share: products of tiles in the workspace, copies of the operands
// of these products, and rows of scores.
#pragma once

#include "cairn/kernel/dropout.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/op/attention.hpp"

#include <numbers>

namespace cairn::kernels {

/// The rows of all heads of a tensor {N, tokens, heads, extent}. Neighbouring tokens are `apart` numbers apart.
template <class In>
struct head_rows {
  In* data;
  std::int64_t tokens, apart;
  int extent;

  In* at(std::int64_t image, int head, std::int64_t token) const {
    return data + (image * tokens + token) * apart + std::int64_t{head} * extent;
  }
};

/// Returns the head rows of a tensor of shape `x`. The shape may leave out the last extent if it is 1. `apart` is the
/// distance between neighbouring tokens, in numbers. 0: the tokens are side by side.
template <class In>
head_rows<In> rows_of(const shape& x, void* data, std::int64_t apart = 0) {
  const int extent = x.rank == 4 ? x[3] : 1;
  return {static_cast<In*>(data), x[1], apart == 0 ? std::int64_t{x[2]} * extent : apart, extent};
}

/// Numbers of type `In` that a step of a product takes: two if the processor multiplies pairs of bf16, else one. Pairs
/// are copied as they are. Single numbers are copied as numbers of the type of sums.
template <class In>
inline constexpr int in_step = factor<In, sum_of<In>>::in_step;
template <class In>
inline constexpr bool in_pairs = in_step<In> == 2;
template <class In>
using copy_of = typename factor<In, sum_of<In>>::number;

/// Copies rows and multiplies them by `factor`. Each copied row is filled up to whole registers with zeros. Rows of
/// zeros follow until there are `all` rows.
template <class In, class Sum, class To>
void copy_rows(const In* from, std::int64_t apart, int rows, int all, int extent, Sum factor, To* to,
               std::int64_t to_apart) {
  constexpr int width = lanes<Sum>::width;
  const auto by = lanes<Sum>::fill(factor);
  std::fill_n(to + rows * to_apart, (all - rows) * to_apart, To{});
  for (int i = 0; i < rows; ++i, from += apart, to += to_apart)
    for (int j = 0; j < extent; j += width) store_row(load_row_as<Sum>(from, j, extent) * by, to, j, j + width);
}
/// Writes rows of sums to a tensor, multiplied by `factor`.
template <class Sum, class Made>
void write_rows(const Sum* from, std::int64_t apart, int rows, int extent, Sum factor, Made* to,
                std::int64_t to_apart) {
  const auto by = lanes<Sum>::fill(factor);
  for (int i = 0; i < rows; ++i, from += apart, to += to_apart)
    for (int j = 0; j < extent; j += lanes<Sum>::width) store_row(lanes<Sum>::load(from + j) * by, to, j, extent);
}
/// Copies rows as steps of products that sum over the rows. If pairs are multiplied, a step has two rows. Otherwise a
/// step is one row, as copy_rows copies it.
template <class In, class To>
void copy_steps(const In* from, std::int64_t apart, int rows, int extent, To* to, int to_apart) {
  if constexpr (in_pairs<In>) pack_pairs(from, apart, extent, rows, to_apart, to);
  else copy_rows(from, apart, rows, rows, extent, To{1}, to, to_apart);
}
/// Copies rows as columns, so that a step of a product is one number of each row, or two if pairs are multiplied. The
/// copy consists of panels {extent, columns}. The columns of a panel fill two registers. The last panel may have the
/// columns of only one register.
template <class In, class To>
void copy_transposed(const In* from, std::int64_t apart, int rows, int extent, To* to) {
  constexpr int width = lanes<sum_of<In>>::width;
  const int steps = in_pairs<In> ? extent + extent % 2 : extent;
  for (int j = 0; j < rows; j += 2 * width) {
    const In* const panel = from + j * apart;
    const int columns = std::min(2 * width, rows - j), filled = rows - j > width ? 2 * width : width;
    if constexpr (in_pairs<In>) pack_pairs_transposed(panel, apart, columns, extent, filled, to);
    else pack_columns_transposed(panel, apart, columns, extent, filled, to);
    to += std::int64_t{filled} * steps;
  }
}
/// Returns the memory of sums as the numbers that products read. Weights and gradients of scores are stored there, over
/// sums that are no longer needed.
template <class In, class Sum>
copy_of<In>* reuse_for_products(Sum* sums) {
  return static_cast<copy_of<In>*>(static_cast<void*>(sums));
}
/// Stores numbers of a row of sums in the type that products read. If `In` is bf16, rounds the numbers to bf16.
template <class In, class Sum>
[[gnu::always_inline]] inline void store_rounded(lanes<Sum> x, Sum* row, int j) {
  if constexpr (std::is_same_v<copy_of<In>, In>) store_row(x, reuse_for_products<In>(row), j, j + lanes<Sum>::width);
  else halves::floats(halves::of(x)).store(row + j);
}

/// Stores zeros at the end of such a row of `all` numbers. The first `count` numbers are in whole registers that are
/// stored already, so the zeros begin with the next register.
template <class In, class Sum>
void clear_after(int count, int all, Sum* row) {
  constexpr int width = lanes<Sum>::width;
  for (int j = (count + width - 1) / width * width; j < all; j += width) store_rounded<In>(lanes<Sum>::fill(0), row, j);
}

/// Computes a tile C = a b in the workspace, or C += a b if `add`. C has room for whole tiles of registers.
/// - Rows of A are `apart_a` numbers apart. If A is transposed, its steps are `apart_a` apart.
/// - Steps of B are `apart_b` apart. If `apart_b` is 0, B consists of panels of `depth` numbers along the inner axis.
/// - `along(row, column)` returns the range along the inner axis outside of which the operands of the tile of registers
///   at that position are zero. If the range is empty, the tile is left as it is.
template <bool Transposed, class In, class Sum, class Along>
void multiply_tiles(const In* a, std::int64_t apart_a, const In* b, std::int64_t apart_b, int depth, Sum* c,
                    std::int64_t apart_c, int rows, int columns, bool add, Along along) {
  constexpr int tile_rows = costs::attention_tiles::tile_rows, width = lanes<Sum>::width;
  const auto in_steps = [](std::int64_t n) { return (n + in_step<In> - 1) / in_step<In>; };
  const setting_for<In, typename factor<In, float>::number> as_instructions{};
  const tile_target<Sum> to{c, apart_c, add, false, nullptr, denormals_setting(as_instructions)};
  for (int j = 0; j < columns; j += 2 * width, b += 2 * width * in_step<In> * (apart_b == 0 ? in_steps(depth) : 1)) {
    const bool pair = columns - j > width;
    const std::int64_t step_b = apart_b != 0 ? apart_b : (pair ? 2 * width : width) * in_step<In>;
    for (int i = 0; i < rows; i += tile_rows) {
      const costs::range own = along(i, j);
      if (own.begin >= own.end) continue;
      const std::int64_t first = own.begin / in_step<In>;
      const tile_source from{apart_a, 0, step_b, static_cast<int>(in_steps(own.end) - first)};
      const In* const tile_a = a + (Transposed ? first * apart_a + i * in_step<In> : i * apart_a + first * in_step<In>);
      const In* const tile_b = b + first * step_b;
      if (pair)
        column_of_tiles<In, Sum, tile_rows, 2, !Transposed>(tile_a, tile_b, from, to, i, j, 2 * width, tile_rows);
      else column_of_tiles<In, Sum, tile_rows, 1, !Transposed>(tile_a, tile_b, from, to, i, j, width, tile_rows);
    }
  }
}

/// The options of attention: a mask and dropout. `mask_row` and `draw_row` are null if there is no mask or no dropout.
/// `step` has the mask's distances between neighbours along the axes {N, H, T, S}, which are 0 where the mask is
/// broadcast.
template <class Real>
struct score_options {
  using mask_pointer = void (*)(const void* mask, std::int64_t at, bool repeated, Real* scores, int count);
  using draw_pointer = void (*)(const random_stream& from, std::int64_t element, int count, std::uint32_t* words);
  mask_pointer mask_row = nullptr;
  std::int64_t step[4] = {};
  draw_pointer draw_row = nullptr;
  double dropout = 0;
};

/// Applies a mask to a row of scores. A mask of real numbers is added. A mask of whole numbers leaves a score as it is
/// where the mask is 1, and sets the score to minus infinity where the mask is 0. If `repeated`, one number of the mask
/// holds for the whole row.
template <class Real, class Mask>
void mask_scores(const void* mask, std::int64_t at, bool repeated, Real* scores, int count) {
  using vec = lanes<Real>;
  using stored = stored_as<Mask::element.type, Real>;
  const stored* const row = static_cast<const stored*>(mask) + at;
  for (int j = 0; j < count; j += vec::width) {
    const vec m = repeated ? vec::fill(static_cast<Real>(*row)) : load_row_as<Real>(row, j, count);
    const vec score = vec::load(scores + j);
    if constexpr (kind_of(Mask::element.type) == kind::whole)
      select(equal(m, vec::fill(0)), vec::fill(minus_infinity<Real>), score).store(scores + j);
    else (score + m).store(scores + j);
  }
}
/// Draws the random words of `count` weights, from number `element` on. `words` has room for whole draws.
inline void draw_row(const random_stream& from, std::int64_t element, int count, std::uint32_t* words) {
  for (int j = 0; j < count; j += drawn_at_once) draw(from, static_cast<std::uint32_t>((element + j) / 4), words + j);
}

/// Exponentials are computed as powers of 2, so scores are multiplied by this factor. The largest score is subtracted
/// before this multiplication. Therefore the weight of the largest score is exactly 1, whatever the score is.
template <class Real>
inline constexpr Real binary_digits = static_cast<Real>(std::numbers::log2e);

/// An attention as data: its extents and tiles, and the code of its options, which is compiled for these extents alone.
template <class Real>
struct attention_plan {
  costs::attention_extents of;
  costs::attention_tiles cut;
  Real scale;
  score_options<Real> with;
};
template <class Real, class Q, class K, class V, costs::attending By, class... Options>
constexpr score_options<Real> score_options_of() {
  score_options<Real> out;
  out.dropout = By.dropout;
  if constexpr (By.mask != costs::masking::none) {
    using mask = std::tuple_element_t<0, std::tuple<Options...>>;
    out.mask_row = &mask_scores<Real, mask>;
    std::int64_t step = 1;
    for (int back = 1; back <= mask::shape.rank; ++back) {
      out.step[4 - back] = mask::shape[-back] > 1 ? step : 0;
      step *= mask::shape[-back];
    }
  }
  if constexpr (By.dropout > 0) {
    static_assert(costs::drawn_keys(K::shape[1]) * Q::shape.count() / Q::shape[3] <= std::int64_t{1} << 34,
                  "attention draws for at most 2^34 scores, each row filled up to whole draws");
    out.draw_row = &draw_row;
  }
  return out;
}
template <costs::attending By, class In, class Q, class K, class V, class... Options>
inline constexpr attention_plan<sum_of<In>> attention_plan_of = [] {
  using sum = sum_of<In>;
  constexpr costs::attention_extents of{Q::shape, K::shape, V::shape, By.causal};
  return attention_plan<sum>{of,
                             {of, sizeof(In)},
                             static_cast<sum>(lang::scale_of_scores(Q::shape)),
                             score_options_of<sum, Q, K, V, By, Options...>()};
}();

/// A tile of the scores of a head. Its first query is `query`, and its first key is `key`.
template <class Real>
struct score_tile {
  const attention_plan<Real>& plan;
  int image, head, query, key;
  int queries, keys;  ///< numbers of queries and keys of the tile

  score_tile(const attention_plan<Real>& of_plan, std::int64_t in_image, int of_head, int query_tile, int key_tile)
      : plan(of_plan),
        image(static_cast<int>(in_image)),
        head(of_head),
        query(query_tile * plan.cut.queries),
        key(key_tile * plan.cut.keys),
        queries(std::min(plan.cut.queries, plan.of.queries - query)),
        keys(std::min(plan.cut.keys, plan.of.keys - key)) {}

  /// Returns true if a query of the tile may look at a key of the tile.
  bool seen() const { return !plan.of.causal || key < query + queries; }
  /// Returns how many keys of the tile the query in row `row` may look at, according to `causal`. Returns 0 if `row`
  /// comes after the tile's last query.
  int keys_seen(int row) const { return row < queries ? keys_until(row) : 0; }
  /// Returns the same number as keys_seen. For a row after the last query, counts as if the tile had more queries.
  int keys_until(int row) const { return plan.of.causal ? std::clamp(query + row + 1 - key, 0, keys) : keys; }
  /// Returns the row of the tile's first query that may look at the key in column `column`.
  int first_query(int column) const { return plan.of.causal ? std::clamp(key + column - query, 0, queries) : 0; }

  /// Return the ranges along the inner axis for the tiles of registers of a product (`along` of multiply_tiles). The
  /// inner axis is the depth for scores. For other products, it is the keys or the queries of the tile.
  auto along_depth(int depth) const {
    return [this, depth](int row, int column) {
      return costs::range{0, keys_until(row + costs::attention_tiles::tile_rows - 1) > column ? depth : 0};
    };
  }
  auto along_keys() const {
    return [this](int row, int) { return costs::range{0, keys_until(row + costs::attention_tiles::tile_rows - 1)}; };
  }
  auto along_queries() const {
    return [this](int row, int) { return costs::range{first_query(row), queries}; };
  }

  /// Scales a row of scores. This is necessary only if pairs are multiplied, because then the queries are not scaled
  /// before the product. Scaling would round them.
  void scale(int count, Real* scores) const {
    constexpr int width = lanes<Real>::width;
    const auto by = lanes<Real>::fill(plan.scale);
    for (int j = 0; j < count; j += width) (lanes<Real>::load(scores + j) * by).store(scores + j);
  }
  void mask(int row, int count, const void* mask, Real* scores) const {
    if (plan.with.mask_row == nullptr) return;
    const std::int64_t* const step = plan.with.step;
    const std::int64_t at = image * step[0] + head * step[1] + (query + row) * step[2] + key * step[3];
    plan.with.mask_row(mask, at, step[3] == 0, scores, count);
  }
  /// Draws the random words of a row of weights.
  void draw(int row, int count, const void* key_of_draws, std::uint32_t* words) const {
    const auto& stream = *static_cast<const random_stream*>(key_of_draws);
    const std::int64_t of_all = std::int64_t{stream.part} * plan.of.batch + image;
    const std::int64_t rows = (of_all * plan.of.heads + head) * plan.of.queries + query + row;
    plan.with.draw_row(stream, rows * costs::drawn_keys(plan.of.keys) + key, count, words);
  }
};

/// Calls visit(image, key head, begin, end) for the share of part number `part`. Each head of keys has `tiles` tiles,
/// and a share is a range of the tiles of all heads. A call gets the tiles [begin, end) of one head. If a call gets
/// only some tiles of the head, number i means tile alternate_tile(i, tiles).
template <class Visit>
void for_each_share(const costs::attention_extents& of, int tiles, int part, int parts, Visit visit) {
  const costs::range own = costs::share(std::int64_t{of.shared_heads()} * tiles, 1, part, parts);
  for (std::int64_t at = own.begin; at < own.end;) {
    const std::int64_t head = at / tiles, end = std::min(own.end, (head + 1) * tiles);
    visit(head / of.key_heads, static_cast<int>(head % of.key_heads), static_cast<int>(at - head * tiles),
          static_cast<int>(end - head * tiles));
    at = end;
  }
}
/// Returns the tile that is visited as number i. The first and the last tiles are visited alternately, because if the
/// attention is causal, the tiles at one end have the most work.
constexpr int alternate_tile(int i, int tiles) { return i % 2 == 0 ? i / 2 : tiles - 1 - i / 2; }

}  // namespace cairn::kernels
