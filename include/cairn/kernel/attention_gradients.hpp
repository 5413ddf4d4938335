// The gradients of attention: weights are made again from what forward tells of their row, tile by tile.
#pragma once

#include "cairn/kernel/attention_tiles.hpp"

namespace cairn {

namespace kernel {

/// One sweep over the tiles of a head makes all three gradients: of a tile of keys, those of keys and values are summed
/// over queries, and what it gives to all queries is added to theirs. Where threads share a head, one sweep makes those
/// of some tiles of keys, another those of some tiles of queries; each sum has the same order.
template <class In, class Sum>
class attention_gradients_of_tiles {
  using vec = lanes<Sum>;
  static constexpr int width = vec::width;
  const attention_plan<Sum>& plan;
  head_rows<const In> g, q, k, v;
  head_rows<const Sum> largest, log_total, delta;
  const void *mask, *draws;
  head_rows<Sum> of_q, of_k, of_v;

  const attention_extents& of = plan.of;
  const attention_tiles& cut = plan.cut;
  const std::int64_t depth = cut.in_registers(of.depth), value_depth = cut.in_registers(of.value_depth);
  const std::int64_t query_rows = cut.in_rows(of.queries);

  /// Working space of a thread.
  struct space {
    Sum *queries, *results, *of_queries;                      ///< of all heads that share keys
    Sum *keys, *values, *rows_of_keys, *of_keys, *of_values;  ///< of a tile of keys, the first two transposed
    Sum *weights, *slopes;                                    ///< of a tile of scores

    space(const attention_extents& of, const attention_tiles& cut, Sum* at) {
      const std::int64_t columns = cut.in_registers(of.depth), value_columns = cut.in_registers(of.value_depth);
      const std::int64_t rows = std::int64_t{of.group()} * cut.in_rows(of.queries);
      const auto take = [&at](std::int64_t numbers) { return std::exchange(at, at + numbers); };
      queries = take(rows * columns);
      results = take(rows * value_columns);
      of_queries = take(rows * columns);
      keys = take(std::int64_t{cut.in_registers(cut.key_rows)} * of.depth);
      values = take(std::int64_t{cut.in_registers(cut.key_rows)} * of.value_depth);
      rows_of_keys = take(cut.key_rows * columns);
      of_keys = take(cut.in_rows(cut.key_rows) * columns);
      of_values = take(cut.in_rows(cut.key_rows) * value_columns);
      weights = take(cut.scores());
      slopes = take(cut.scores());
    }
  };
  /// Tiles of queries or of keys: of a share, mixed; or all, in order.
  struct tiles {
    int begin, end, all;

    int operator[](int i) const { return end - begin == all ? i : mixed(i, all); }
  };

 public:
  attention_gradients_of_tiles(const attention_plan<Sum>& of_plan, head_rows<const In> of_g, head_rows<const In> from_q,
                               head_rows<const In> from_k, head_rows<const In> from_v, const Sum* of_largest,
                               const Sum* of_totals, const Sum* off_rows, const void* of_mask, const void* of_draws, Sum* to_q, Sum* to_k,
                               Sum* to_v)
      : plan(of_plan),
        g(of_g),
        q(from_q),
        k(from_k),
        v(from_v),
        largest{of_largest, plan.of.queries, plan.of.heads, 1},
        log_total{of_totals, plan.of.queries, plan.of.heads, 1},
        delta{off_rows, plan.of.queries, plan.of.heads, 1},
        mask(of_mask),
        draws(of_draws),
        of_q{to_q, plan.of.queries, std::int64_t{plan.of.heads} * plan.of.depth, plan.of.depth},
        of_k{to_k, plan.of.keys, std::int64_t{plan.of.key_heads} * plan.of.depth, plan.of.depth},
        of_v{to_v, plan.of.keys, std::int64_t{plan.of.key_heads} * plan.of.value_depth, plan.of.value_depth} {}

  [[gnu::noinline]] void run(Sum* scratch, const workspace& each, int threads) const {
    const int parts = std::min(each.parts, threads);
    const int key_tiles = cut.key_tiles(of), query_tiles = cut.query_tiles(of);
    const bool by_keys = of_k.data != nullptr || of_v.data != nullptr, by_queries = of_q.data != nullptr;
    in_parts(parts, [=, this, &each](int part) {
      const space at(of, cut, scratch + part * each.each);
      for_each_share(of, key_tiles, part, parts, [&](std::int64_t image, int key_head, int begin, int end) {
        copy_queries(at, image, key_head);
        const tiles keys{begin, end, key_tiles}, all_keys{0, key_tiles, key_tiles};
        const tiles queries{begin * query_tiles / key_tiles, end * query_tiles / key_tiles, query_tiles};
        const tiles all_queries{0, query_tiles, query_tiles};
        if (end - begin == key_tiles) return sweep(at, image, key_head, all_keys, all_queries, by_keys, by_queries);
        if (by_keys) sweep(at, image, key_head, keys, all_queries, true, false);
        if (by_queries) sweep(at, image, key_head, all_keys, queries, false, true);
      });
    });
  }

 private:
  void copy_queries(const space& at, std::int64_t image, int key_head) const {
    for (int member = 0; member < of.group(); ++member) {
      const int head = key_head * of.group() + member;
      copy_rows(q.at(image, head, 0), q.apart, of.queries, cut.in_rows(of.queries), of.depth, plan.scale,
                at.queries + member * query_rows * depth, depth);
      copy_rows(g.at(image, head, 0), g.apart, of.queries, cut.in_rows(of.queries), of.value_depth, Sum{1},
                at.results + member * query_rows * value_depth, value_depth);
    }
  }

  void sweep(const space& at, std::int64_t image, int key_head, tiles keys, tiles queries, bool by_keys,
             bool by_queries) const {
    std::fill_n(at.of_queries, of.group() * query_rows * depth, Sum{0});
    for (int i = keys.begin; i < keys.end; ++i) {
      const int key = keys[i] * cut.keys, count = std::min(cut.keys, of.keys - key);
      copy_transposed(k.at(image, key_head, key), k.apart, count, of.depth, at.keys);
      copy_transposed(v.at(image, key_head, key), v.apart, count, of.value_depth, at.values);
      copy_rows(k.at(image, key_head, key), k.apart, count, count, of.depth, Sum{1}, at.rows_of_keys,
                depth);
      std::fill_n(at.of_keys, cut.in_rows(cut.key_rows) * depth, Sum{0});
      std::fill_n(at.of_values, cut.in_rows(cut.key_rows) * value_depth, Sum{0});
      for (int member = 0; member < of.group(); ++member)
        for (int t = queries.begin; t < queries.end; ++t) {
          const score_tile<Sum> scores(plan, image, key_head * of.group() + member, queries[t], keys[i]);
          if (scores.seen()) tile(scores, at, member * query_rows + scores.query, by_keys, by_queries);
        }
      if (by_keys && of_k.data != nullptr)
        write_rows(at.of_keys, depth, count, of.depth, Sum{1}, of_k.at(image, key_head, key), of_k.apart);
      if (by_keys && of_v.data != nullptr)
        write_rows(at.of_values, value_depth, count, of.value_depth, Sum{1}, of_v.at(image, key_head, key), of_v.apart);
    }
    if (!by_queries) return;
    for (int member = 0; member < of.group(); ++member)
      for (int t = queries.begin; t < queries.end; ++t) {
        const score_tile<Sum> rows(plan, image, key_head * of.group() + member, queries[t], 0);
        write_rows(at.of_queries + (member * query_rows + rows.query) * depth, depth, rows.queries, of.depth,
                   plan.scale, of_q.at(image, rows.head, rows.query), of_q.apart);
      }
  }

  /// What a tile of scores gives; its queries stand from `at_row` on.
  void tile(const score_tile<Sum>& scores, const space& at, std::int64_t at_row, bool by_keys, bool by_queries) const {
    const int rows = scores.queries, keys = scores.keys;
    const Sum *const queries = at.queries + at_row * depth, *const results = at.results + at_row * value_depth;
    multiply_tiles<false>(queries, depth, at.keys, 0, of.depth, at.weights, cut.keys, rows, keys, false,
                          scores.along_depth(of.depth));
    multiply_tiles<false>(results, value_depth, at.values, 0, of.value_depth, at.slopes, cut.keys, rows, keys, false,
                          scores.along_depth(of.value_depth));
    for (int row = 0; row < cut.queries; ++row) weigh(scores, at, row);
    const int columns = static_cast<int>(depth), value_columns = static_cast<int>(value_depth);
    if (by_keys) {
      multiply_tiles<true>(at.weights, cut.keys, results, value_depth, rows, at.of_values, value_depth, keys,
                           value_columns, true, scores.along_queries());
      multiply_tiles<true>(at.slopes, cut.keys, queries, depth, rows, at.of_keys, depth, keys, columns, true,
                           scores.along_queries());
    }
    if (by_queries)
      multiply_tiles<false>(at.slopes, cut.keys, at.rows_of_keys, depth, keys, at.of_queries + at_row * depth, depth,
                            rows, columns, true, scores.along_keys());
  }

  /// Scores become weights, dropped as forward, and what these gave to the result the gradients of scores.
  void weigh(const score_tile<Sum>& tile, const space& at, int row) const {
    Sum *const weights = at.weights + std::int64_t{row} * cut.keys, *const slopes =
                                                                        at.slopes + std::int64_t{row} * cut.keys;
    const int seen = tile.keys_seen(row);
    std::fill(weights + seen, weights + cut.keys, Sum{0});
    std::fill(slopes + seen, slopes + cut.keys, Sum{0});
    if (seen == 0) return;
    const bool drops = plan.with.draw_row != nullptr;
    alignas(64) std::uint32_t words[attention_tiles::most];
    if (drops) tile.draw(row, seen, draws, words);
    tile.mask(row, seen, mask, weights);
    const auto told = [&](const head_rows<const Sum>& of_rows) {
      return vec::fill(*of_rows.at(tile.image, tile.head, tile.query + row));
    };
    const vec by = vec::fill(binary_digits<Sum>);
    const vec base = told(largest), share = -told(log_total) * by, off = told(delta);
    const vec keep = vec::fill(static_cast<Sum>(1 / (1 - plan.with.dropout)));
    const auto least = static_cast<std::uint32_t>(plan.with.dropout * 0x1p32);
    const auto step = [=, &words](int j, auto within) {
      const vec w = exp2_below(fused(vec::load(weights + j) - base, by, share));
      vec slope = vec::load(slopes + j);
      if (drops) slope = where_at_least(slope * keep, words + j, least);
      within(w * (slope - off)).store(slopes + j);
      within(drops ? where_at_least(w * keep, words + j, least) : w).store(weights + j);
    };
    const int whole = seen - seen % width;
    for (int j = 0; j < whole; j += width) step(j, [](vec x) { return x; });
    if (whole < seen) step(whole, [n = seen - whole](vec x) { return masked(x, n); });
  }
};

}  // namespace kernel

template <attending By, class Real, class G, class Q, class K, class V, class Largest, class LogTotal, class Delta,
          class... Options>
void compute(attention_gradients_op<By>, signature<Real, G, Q, K, V, Largest, LogTotal, Delta, Options...>, void* const* p,
             const kernel::launch& how) {
  constexpr const auto& plan = kernel::attention_plan_of<By, Real, Q, K, V, Options...>;
  constexpr auto options = static_cast<int>(sizeof...(Options));
  const auto to = [p](int i) { return static_cast<Real*>(p[i]); };
  const kernel::attention_gradients_of_tiles<Real, Real> all(
      plan, kernel::rows_of<const Real, G>(p[3], how.apart(0)), kernel::rows_of<const Real, Q>(p[4], how.apart(1)),
      kernel::rows_of<const Real, K>(p[5], how.apart(2)), kernel::rows_of<const Real, V>(p[6], how.apart(3)), to(7),
      to(8), to(9), p[10], p[9 + options], to(0), to(1), to(2));
  constexpr workspace scratch =
      attention_gradients_op<By>::scratch(sizeof(Real), G::shape, Q::shape, K::shape, V::shape);
  all.run(to(10 + options), scratch, how.threads);
}

}  // namespace cairn
