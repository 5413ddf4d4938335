// What attention and its gradients share: products of tiles in scratch, copies of what they read, and rows of scores.
#pragma once

#include "cairn/op/attention.hpp"
#include "cairn/kernel/dropout.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/softmax.hpp"

#include <numbers>

namespace cairn::kernel {

/// The heads of a tensor {N, tokens, heads, extent}: tokens lie `apart`.
template <class In>
struct head_rows {
  In* data;
  std::int64_t tokens, apart;
  int extent;

  In* at(std::int64_t image, int head, std::int64_t token) const {
    return data + (image * tokens + token) * apart + std::int64_t{head} * extent;
  }
};

/// Rows of a tensor of such a shape, so far apart, 0 where they lie side by side. The last extent may be left out where
/// it is 1.
template <class In>
head_rows<In> rows_of(const shape& x, void* data, std::int64_t apart = 0) {
  const int extent = x.rank == 4 ? x[3] : 1;
  return {static_cast<In*>(data), x[1], apart == 0 ? std::int64_t{x[2]} * extent : apart, extent};
}

/// How many such numbers a step of a product takes. Pairs are copied as they are, and single ones as sums.
template <class In>
inline constexpr int in_step = factor<In, sum_of<In>>::in_step;
template <class In>
inline constexpr bool in_pairs = in_step<In> == 2;
template <class In>
using copy_of = typename factor<In, sum_of<In>>::number;

/// Rows side by side times a factor, filled up to whole registers with zeros, and with rows of zeros up to `all`; and
/// back.
template <class In, class Sum, class To>
void copy_rows(const In* from, std::int64_t apart, int rows, int all, int extent, Sum factor, To* to,
               std::int64_t to_apart) {
  constexpr int width = lanes<Sum>::width;
  const auto by = lanes<Sum>::fill(factor);
  std::fill_n(to + rows * to_apart, (all - rows) * to_apart, To{});
  for (int i = 0; i < rows; ++i, from += apart, to += to_apart)
    for (int j = 0; j < extent; j += width) store_row(load_row_as<Sum>(from, j, extent) * by, to, j, j + width);
}
template <class Sum, class Made>
void write_rows(const Sum* from, std::int64_t apart, int rows, int extent, Sum factor, Made* to,
                std::int64_t to_apart) {
  const auto by = lanes<Sum>::fill(factor);
  for (int i = 0; i < rows; ++i, from += apart, to += to_apart)
    for (int j = 0; j < extent; j += lanes<Sum>::width) store_row(lanes<Sum>::load(from + j) * by, to, j, extent);
}
/// Rows as steps of products along them: as copy_rows has them, or, of pairs, two rows a step.
template <class In, class To>
void copy_steps(const In* from, std::int64_t apart, int rows, int extent, To* to, int to_apart) {
  if constexpr (in_pairs<In>) pack_pairs(from, apart, extent, rows, to_apart, to);
  else copy_rows(from, apart, rows, rows, extent, To{1}, to, to_apart);
}
/// Rows as columns: panels of two registers of them, each {extent, columns}, the last one perhaps of one.
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
/// What products read in place of sums that are not read again: weights and their like, rounded if other numbers are.
template <class In, class Sum>
copy_of<In>* in_place_of(Sum* sums) {
  return static_cast<copy_of<In>*>(static_cast<void*>(sums));
}
template <class In, class Sum>
[[gnu::always_inline]] inline void store_rounded(lanes<Sum> x, Sum* row, int j) {
  if constexpr (std::is_same_v<copy_of<In>, In>) store_row(x, in_place_of<In>(row), j, j + lanes<Sum>::width);
  else halves::floats(halves::of(x)).store(row + j);
}

/// Zeros in place of the last numbers of such a row, of which the first `count` stand in whole registers.
template <class In, class Sum>
void clear_after(int count, int all, Sum* row) {
  constexpr int width = lanes<Sum>::width;
  for (int j = (count + width - 1) / width * width; j < all; j += width)
    store_rounded<In>(lanes<Sum>::fill(0), row, j);
}

/// A tile of C in scratch = or += a b, in whole tiles of registers: C has room for these. Of A rows are `apart_a`, or,
/// of a transposed one, steps. Steps of B are `apart_b`, or, where that is 0, it is `depth` numbers deep, in panels.
/// `along(row, column)` are those numbers of the depth that are not zero for the tile there.
template <bool Transposed, class In, class Sum, class Along>
void multiply_tiles(const In* a, std::int64_t apart_a, const In* b, std::int64_t apart_b, int depth, Sum* c,
                    std::int64_t apart_c, int rows, int columns, bool add, Along along) {
  constexpr int tile_rows = attention_tiles::tile_rows, width = lanes<Sum>::width;
  const auto in_steps = [](std::int64_t n) { return (n + in_step<In> - 1) / in_step<In>; };
  const setting_for<In, typename factor<In, float>::number> as_instructions{};
  const tile_target<Sum> to{c, apart_c, add, false, nullptr, zeros_in(as_instructions)};
  for (int j = 0; j < columns; j += 2 * width, b += 2 * width * in_step<In> * (apart_b == 0 ? in_steps(depth) : 1)) {
    const bool pair = columns - j > width;
    const std::int64_t step_b = apart_b != 0 ? apart_b : (pair ? 2 * width : width) * in_step<In>;
    for (int i = 0; i < rows; i += tile_rows) {
      const range own = along(i, j);
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

/// What stands beside queries, keys and values. A mask has steps by axis of {N, H, T, S}, 0 where it is repeated.
template <class Real>
struct beside_scores {
  using mask_pointer = void (*)(const void* mask, std::int64_t at, bool repeated, Real* scores, int count);
  using draw_pointer = void (*)(const random_stream& from, std::int64_t element, int count, std::uint32_t* words);
  mask_pointer mask_row = nullptr;
  std::int64_t step[4] = {};
  draw_pointer draw_row = nullptr;
  double dropout = 0;
};

/// Adds a mask to scores of a row, or leaves those alone at which it has a 1.
template <class Real, class Mask>
void mask_scores(const void* mask, std::int64_t at, bool repeated, Real* scores, int count) {
  using vec = lanes<Real>;
  using stored = stored_as<Mask::element.type, Real>;
  const stored* const row = static_cast<const stored*>(mask) + at;
  for (int j = 0; j < count; j += vec::width) {
    const vec m = repeated ? vec::fill(static_cast<Real>(*row)) : load_row_as<Real>(row, j, count);
    const vec score = vec::load(scores + j);
    if constexpr (kind_of(Mask::element.type) == kind::whole)
      select(equal(m, vec::fill(0)), vec::fill(nothing<Real>), score).store(scores + j);
    else (score + m).store(scores + j);
  }
}
inline void draw_row(const random_stream& from, std::int64_t element, int count, std::uint32_t* words) {
  for (int j = 0; j < count; j += drawn_at_once) draw(from, static_cast<std::uint32_t>((element + j) / 4), words + j);
}

/// Exponentials are powers of 2. The largest score is taken off before scores are scaled to that: so the largest one's
/// weight is 1, and exact whatever its score.
template <class Real>
inline constexpr Real binary_digits = static_cast<Real>(std::numbers::log2e);

/// An attention with its code, for its extents alone.
template <class Real>
struct attention_plan {
  attention_extents of;
  attention_tiles cut;
  Real scale;
  beside_scores<Real> with;
};
template <class Real, class Q, class K, class V, attending By, class... Options>
constexpr beside_scores<Real> beside_scores_of() {
  beside_scores<Real> out;
  out.dropout = By.dropout;
  if constexpr (By.mask != masking::none) {
    using mask = std::tuple_element_t<0, std::tuple<Options...>>;
    out.mask_row = &mask_scores<Real, mask>;
    std::int64_t step = 1;
    for (int back = 1; back <= mask::shape.rank; ++back) {
      out.step[4 - back] = mask::shape[-back] > 1 ? step : 0;
      step *= mask::shape[-back];
    }
  }
  if constexpr (By.dropout > 0) {
    static_assert(drawn_keys(K::shape[1]) * Q::shape.count() / Q::shape[3] <= std::int64_t{1} << 34,
                  "attention draws for at most 2^34 scores, each row filled up to whole draws");
    out.draw_row = &draw_row;
  }
  return out;
}
template <attending By, class In, class Q, class K, class V, class... Options>
inline constexpr attention_plan<sum_of<In>> attention_plan_of = [] {
  using sum = sum_of<In>;
  constexpr attention_extents of{Q::shape, K::shape, V::shape, By.causal};
  return attention_plan<sum>{of,
                             {of, sizeof(In)},
                             static_cast<sum>(cairn::detail::scale_of_scores(Q::shape)),
                             beside_scores_of<sum, Q, K, V, By, Options...>()};
}();

/// A tile of scores: queries from `query` on of a head, and keys from `key` on.
template <class Real>
struct score_tile {
  const attention_plan<Real>& plan;
  int image, head, query, key;
  int queries, keys;  ///< how many

  score_tile(const attention_plan<Real>& of_plan, std::int64_t in_image, int of_head, int query_tile, int key_tile)
      : plan(of_plan),
        image(static_cast<int>(in_image)),
        head(of_head),
        query(query_tile * plan.cut.queries),
        key(key_tile * plan.cut.keys),
        queries(std::min(plan.cut.queries, plan.of.queries - query)),
        keys(std::min(plan.cut.keys, plan.of.keys - key)) {}

  /// Whether any of its queries may look at any of its keys.
  bool seen() const { return !plan.of.causal || key < query + queries; }
  /// The keys at which a query of the tile may look, as far as `causal` says; none where it has no such query.
  int keys_seen(int row) const { return row < queries ? keys_until(row) : 0; }
  int keys_until(int row) const { return plan.of.causal ? std::clamp(query + row + 1 - key, 0, keys) : keys; }
  /// The first query of the tile that may look at a key.
  int first_query(int column) const { return plan.of.causal ? std::clamp(key + column - query, 0, queries) : 0; }

  /// The steps of products, for tiles of registers: along the depth for scores, along keys, along queries.
  auto along_depth(int depth) const {
    return [this, depth](int row, int column) {
      return range{0, keys_until(row + attention_tiles::tile_rows - 1) > column ? depth : 0};
    };
  }
  auto along_keys() const {
    return [this](int row, int) { return range{0, keys_until(row + attention_tiles::tile_rows - 1)}; };
  }
  auto along_queries() const {
    return [this](int row, int) { return range{first_query(row), queries}; };
  }

  /// Of pairs of numbers, which are not scaled before for that would round them, the scores of a row.
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
  /// The words of a row's weights.
  void draw(int row, int count, const void* key_of_draws, std::uint32_t* words) const {
    const std::int64_t rows = (std::int64_t{image} * plan.of.heads + head) * plan.of.queries + query + row;
    plan.with.draw_row(*static_cast<const random_stream*>(key_of_draws), rows * drawn_keys(plan.of.keys) + key, count,
                       words);
  }
};

/// Calls visit(image, key head, begin, end) for the share of a part: of each head so many of its `tiles`. All of a
/// head, or in an order in which the first ones and the last ones, with the most work, are mixed: `mixed`.
template <class Visit>
void for_each_share(const attention_extents& of, int tiles, int part, int parts, Visit visit) {
  const range own = share(std::int64_t{of.shared_heads()} * tiles, 1, part, parts);
  for (std::int64_t at = own.begin; at < own.end;) {
    const std::int64_t head = at / tiles, end = std::min(own.end, (head + 1) * tiles);
    visit(head / of.key_heads, static_cast<int>(head % of.key_heads), static_cast<int>(at - head * tiles),
          static_cast<int>(end - head * tiles));
    at = end;
  }
}
constexpr int mixed(int i, int tiles) { return i % 2 == 0 ? i / 2 : tiles - 1 - i / 2; }

}  // namespace cairn::kernel
