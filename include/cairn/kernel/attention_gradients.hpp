// Computes the gradients of attention tile by tile. The weights are not stored. The kernel recomputes them from the
// scores and from two numbers that the forward pass stores for each row of scores.
#pragma once

#include "cairn/kernel/attention_tiles.hpp"

namespace cairn::kernels {

/// Computes the gradients of queries, keys and values. A sweep visits the tiles of scores of a head. For each tile of
/// keys, it sums the gradients of the keys and values over the queries. It also adds what the tile of keys contributes
/// to the gradients of the queries.
///
/// If one thread computes a whole head, one sweep computes all three gradients. If threads share a head, each thread
/// makes two sweeps. One sweep computes the gradients of some tiles of keys and values, and the other sweep computes
/// the gradients of some tiles of queries. The order of each sum is the same in both cases.
///
/// If `In` is bf16, weights and gradients of scores are rounded to bf16 before other numbers are multiplied by them.
template <class In, class Sum, class Made = Sum>
struct attention_gradients_of_tiles {
  const attention_plan<Sum>& plan;
  head_rows<const In> g, q, k, v;
  head_rows<const Sum> largest, log_total, delta;
  const void *mask, *draws;
  head_rows<Made> of_q, of_k, of_v;
  const costs::attention_extents& of = plan.of;
  const costs::attention_tiles& cut = plan.cut;

  [[gnu::noinline]] void run(In* scratch, const workspace& each, int threads) const {
    const int parts = std::min(each.parts, threads);
    const int key_tiles = cut.key_tiles(of), query_tiles = cut.query_tiles(of);
    const bool for_keys = of_k.data != nullptr || of_v.data != nullptr, for_queries = of_q.data != nullptr;
    in_parts(parts, [=, this, &each](int part) {
      const space at = cut.template backward<copy_of<In>*, Sum*>(of, scratch + part * each.each);
      for_each_share(of, key_tiles, part, parts, [&](std::int64_t image, int key_head, int begin, int end) {
        const tiles keys{begin, end, key_tiles}, all_keys{0, key_tiles, key_tiles};
        const tiles queries{begin * query_tiles / key_tiles, end * query_tiles / key_tiles, query_tiles};
        const tiles all_queries{0, query_tiles, query_tiles};
        if (end - begin == key_tiles) return sweep(at, image, key_head, all_keys, all_queries, for_keys, for_queries);
        if (for_keys) sweep(at, image, key_head, keys, all_queries, true, false);
        if (for_queries) sweep(at, image, key_head, all_keys, queries, false, true);
      });
    });
  }

 private:
  using vec = lanes<Sum>;
  using space = costs::attention_tiles::backward_space<copy_of<In>*, Sum*>;
  /// The tiles of queries or of keys that a sweep visits. The tiles of a share are visited in the order of `mixed`. If
  /// a sweep visits all tiles, it visits them in their own order.
  struct tiles {
    int begin, end, all;

    int operator[](int i) const { return end - begin == all ? i : alternate_tile(i, all); }
  };

  /// Visits tiles of scores of all heads that share one head of keys. These heads are visited one after another,
  /// because the workspace of a thread has room for the queries of one head. It also has room for the sums that become
  /// the gradients of all keys.
  void sweep(space at, std::int64_t image, int key_head, tiles keys, tiles queries, bool for_keys,
             bool for_queries) const {
    const int query_rows = cut.in_rows(of.queries), last = of.group() - 1;
    // Queries are scaled while they are copied. If pairs are multiplied, the gradients of the keys are scaled at the
    // end instead, because scaling would round the bf16 copies of the queries.
    const Sum before = in_pairs<In> ? 1 : plan.scale, after = in_pairs<In> ? plan.scale : 1;
    Sum *const all_of_keys = at.key_gradients, *const all_of_values = at.value_gradients;
    for (int member = 0; member <= last; ++member) {
      const int head = key_head * of.group() + member;
      copy_rows(q.at(image, head, 0), q.apart, of.queries, query_rows, of.depth, before, at.queries, cut.depth);
      copy_rows(g.at(image, head, 0), g.apart, of.queries, query_rows, of.value_depth, Sum{1}, at.result_gradients,
                cut.value_depth);
      if constexpr (in_pairs<In>) {
        copy_steps(q.at(image, head, 0), q.apart, of.queries, of.depth, at.steps_of_queries, cut.depth);
        copy_steps(g.at(image, head, 0), g.apart, of.queries, of.value_depth, at.steps_of_result_gradients,
                   cut.value_depth);
      }
      std::fill_n(at.query_gradients, std::int64_t{query_rows} * cut.depth, Sum{0});
      for (int i = keys.begin; i < keys.end; ++i) {
        const int key = keys[i] * cut.keys, count = std::min(cut.keys, of.keys - key);
        copy_transposed(k.at(image, key_head, key), k.apart, count, of.depth, at.keys);
        copy_transposed(v.at(image, key_head, key), v.apart, count, of.value_depth, at.values);
        copy_steps(k.at(image, key_head, key), k.apart, count, of.depth, at.steps_of_keys, cut.depth);
        at.key_gradients = all_of_keys + std::int64_t{key % cut.sum_rows} * cut.depth;
        at.value_gradients = all_of_values + std::int64_t{key % cut.sum_rows} * cut.value_depth;
        if (member == 0) {
          std::fill_n(at.key_gradients, cut.in_rows(count) * cut.depth, Sum{0});
          std::fill_n(at.value_gradients, cut.in_rows(count) * cut.value_depth, Sum{0});
        }
        for (int t = queries.begin; t < queries.end; ++t) {
          const score_tile<Sum> scores(plan, image, head, queries[t], keys[i]);
          if (scores.seen()) tile(scores, at, for_keys, for_queries);
        }
        if (member < last || !for_keys) continue;
        if (of_k.data != nullptr)
          write_rows(at.key_gradients, cut.depth, count, of.depth, after, of_k.at(image, key_head, key), of_k.apart);
        if (of_v.data != nullptr)
          write_rows(at.value_gradients, cut.value_depth, count, of.value_depth, Sum{1}, of_v.at(image, key_head, key),
                     of_v.apart);
      }
      for (int t = queries.begin; for_queries && t < queries.end; ++t) {
        const score_tile<Sum> rows(plan, image, head, queries[t], 0);
        write_rows(at.query_gradients + std::int64_t{rows.query} * cut.depth, cut.depth, rows.queries, of.depth,
                   plan.scale, of_q.at(image, head, rows.query), of_q.apart);
      }
    }
  }

  void tile(const score_tile<Sum>& scores, const space& at, bool for_keys, bool for_queries) const {
    const int rows = scores.queries, keys = scores.keys;
    const std::int64_t query = scores.query;
    const copy_of<In>*const queries = at.queries + query * cut.depth, *const results =
                                                                          at.result_gradients + query * cut.value_depth;
    multiply_tiles<false>(queries, cut.depth, at.keys, 0, of.depth, at.weights, cut.keys, rows, keys, false,
                          scores.along_depth(of.depth));
    multiply_tiles<false>(results, cut.value_depth, at.values, 0, of.value_depth, at.score_gradients, cut.keys, rows,
                          keys, false, scores.along_depth(of.value_depth));
    for (int row = 0; row < cut.queries; ++row) weigh(scores, at, row);
    const copy_of<In>*const weights = reuse_for_products<In>(at.weights), *const slopes = reuse_for_products<In>(
                                                                              at.score_gradients);
    if (for_keys) {
      if constexpr (in_pairs<In>) {
        pack_pairs(weights, in_step<In> * cut.keys, cut.keys, cut.queries, cut.keys, at.steps_of_weights);
        pack_pairs(slopes, in_step<In> * cut.keys, cut.keys, cut.queries, cut.keys, at.steps_of_score_gradients);
        of_keys(scores, at, at.steps_of_weights, at.steps_of_score_gradients, at.steps_of_queries + query * cut.depth,
                at.steps_of_result_gradients + query * cut.value_depth);
      } else {
        of_keys(scores, at, weights, slopes, queries, results);
      }
    }
    if (for_queries)
      multiply_tiles<false>(slopes, in_step<In> * cut.keys, at.steps_of_keys, in_step<In> * cut.depth, keys,
                            at.query_gradients + query * cut.depth, cut.depth, rows, cut.depth, true,
                            scores.along_keys());
  }
  /// Adds what a tile of scores contributes to the gradients of keys and values. The inner axis of these products is
  /// the queries.
  void of_keys(const score_tile<Sum>& scores, const space& at, const copy_of<In>* weights, const copy_of<In>* slopes,
               const copy_of<In>* queries, const copy_of<In>* results) const {
    const int rows = scores.queries, keys = scores.keys;
    multiply_tiles<true>(weights, in_step<In> * cut.keys, results, in_step<In> * cut.value_depth, rows,
                         at.value_gradients, cut.value_depth, keys, cut.value_depth, true, scores.along_queries());
    multiply_tiles<true>(slopes, in_step<In> * cut.keys, queries, in_step<In> * cut.depth, rows, at.key_gradients,
                         cut.depth, keys, cut.depth, true, scores.along_queries());
  }

  /// Replaces a row of scores by weights, with the dropout of the forward pass. Replaces the gradients of the row's
  /// weights, which are in `slopes`, by the gradients of the scores.
  void weigh(const score_tile<Sum>& tile, const space& at, int row) const {
    Sum *const weights = at.weights + std::int64_t{row} * cut.keys, *const slopes = at.score_gradients +
                                                                                    std::int64_t{row} * cut.keys;
    const int seen = tile.keys_seen(row);
    std::fill(weights + seen, weights + cut.keys, Sum{0});
    std::fill(slopes + seen, slopes + cut.keys, Sum{0});
    if (seen == 0) return;
    const bool drops = plan.with.draw_row != nullptr;
    alignas(64) std::uint32_t words[costs::attention_tiles::most_tile_length];
    if (drops) tile.draw(row, seen, draws, words);
    if constexpr (in_pairs<In>) tile.scale(seen, weights);
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
      store_rounded<In>(within(w * (slope - off)), slopes, j);
      store_rounded<In>(within(drops ? where_at_least(w * keep, words + j, least) : w), weights, j);
    };
    const int whole = seen - seen % vec::width;
    for (int j = 0; j < whole; j += vec::width) step(j, [](vec x) { return x; });
    if (whole < seen) step(whole, [n = seen - whole](vec x) { return masked(x, n); });
    if constexpr (in_pairs<In>) {
      clear_after<In>(seen, cut.keys, weights);
      clear_after<In>(seen, cut.keys, slopes);
    }
  }
};

}  // namespace cairn::kernels

namespace cairn::lang {

template <costs::attending By, class Real, class G, class Q, class K, class V, class Largest, class LogTotal,
          class Delta, class... Options>
void compute(attention_gradients_op<By>, signature<Real, G, Q, K, V, Largest, LogTotal, Delta, Options...>,
             void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  using in = kernels::taken_of<Real, Q>;
  using made = kernels::made_of<Real>;
  constexpr const auto& plan = kernels::attention_plan_of<By, in, Q, K, V, Options...>;
  constexpr auto options = static_cast<int>(sizeof...(Options));
  const kernels::attention_gradients_of_tiles<in, sum, made> all{
      .plan = plan,
      .g = kernels::rows_of<const in>(G::shape, p[3], how.apart(0)),
      .q = kernels::rows_of<const in>(Q::shape, p[4], how.apart(1)),
      .k = kernels::rows_of<const in>(K::shape, p[5], how.apart(2)),
      .v = kernels::rows_of<const in>(V::shape, p[6], how.apart(3)),
      .largest = kernels::rows_of<const sum>(Largest::shape, p[7]),
      .log_total = kernels::rows_of<const sum>(LogTotal::shape, p[8]),
      .delta = kernels::rows_of<const sum>(Delta::shape, p[9]),
      .mask = p[10],
      .draws = p[9 + options],
      .of_q = kernels::rows_of<made>(Q::shape, p[0]),
      .of_k = kernels::rows_of<made>(K::shape, p[1]),
      .of_v = kernels::rows_of<made>(V::shape, p[2])};
  constexpr workspace scratch = attention_gradients_op<By>::scratch(sizeof(in), G::shape, Q::shape, K::shape, V::shape);
  all.run(static_cast<in*>(p[10 + options]), scratch, how.threads);
}

}  // namespace cairn::lang
