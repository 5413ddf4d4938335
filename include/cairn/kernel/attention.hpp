// Computes attention without storing its scores. For a tile of queries, tiles of scores are computed one after another.
// Meanwhile three results are held for each query: the largest score so far, the sum of the weights, and the weighted
// sum of the values (M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, 2018; T. Dao et al.,
// FlashAttention, 2022). Every sum is added in the order of the keys.
#pragma once

#include "cairn/kernel/attention_gradients.hpp"
#include "cairn/kernel/attention_tiles.hpp"

namespace cairn::kernels {

/// Computes attention tile by tile. The kernel reads numbers of type `In` and writes results of type `Made`. It adds
/// numbers of type `Sum`, which is float if `In` is bf16.
///
/// If `In` is bf16, the weights are rounded to bf16 before the values are multiplied by them. The total of the weights
/// is summed before they are rounded.
template <class In, class Sum, class Made = Sum>
struct attention_of_tiles {
  const attention_plan<Sum>& plan;
  head_rows<const In> q, k, v;
  const void *mask, *draws;
  head_rows<Made> y;
  head_rows<Sum> largest, log_total;
  const costs::attention_extents& of = plan.of;
  const costs::attention_tiles& cut = plan.cut;

  [[gnu::noinline]] void run(In* scratch, const workspace& each, int threads) const {
    const int parts = std::min(each.parts, threads), tiles = cut.query_tiles(of);
    in_parts(parts, [this, scratch, &each, parts, tiles](int part) {
      const space at = cut.template forward<copy_of<In>*, Sum*>(of, scratch + part * each.each);
      for_each_share(of, tiles, part, parts, [&](std::int64_t image, int key_head, int begin, int end) {
        copy_transposed(k.at(image, key_head, 0), k.apart, of.keys, of.depth, at.keys);
        copy_steps(v.at(image, key_head, 0), v.apart, of.keys, of.value_depth, at.values, cut.value_depth);
        for (int i = begin; i < end; ++i)
          for (int member = 0; member < of.group(); ++member)
            query_tile(at, image, key_head * of.group() + member, alternate_tile(i, tiles));
      });
    });
  }

 private:
  using vec = lanes<Sum>;
  using space = costs::attention_tiles::forward_space<copy_of<In>*, Sum*>;

  void query_tile(const space& at, std::int64_t image, int head, int tile) const {
    const score_tile<Sum> first(plan, image, head, tile, 0);
    const int rows = first.queries;
    copy_rows(q.at(image, head, first.query), q.apart, rows, cut.queries, of.depth, in_pairs<In> ? 1 : plan.scale,
              at.queries, cut.depth);
    std::fill_n(at.sums, cut.queries * cut.value_depth, Sum{0});
    std::fill_n(at.largest, cut.in_registers(cut.queries), minus_infinity<Sum>);
    std::fill_n(at.total, cut.queries * vec::width, Sum{0});
    for (int i = 0; i < cut.key_tiles(of); ++i) {
      const score_tile<Sum> scores(plan, image, head, tile, i);
      if (!scores.seen()) break;
      multiply_tiles<false>(at.queries, cut.depth, at.keys + std::int64_t{scores.key} * cut.in_steps(of.depth), 0,
                            of.depth, at.scores, cut.keys, rows, scores.keys, false, scores.along_depth(of.depth));
      for (int row = 0; row < cut.queries; ++row) weigh(scores, at, row);
      multiply_tiles<false>(reuse_for_products<In>(at.scores), in_step<In> * cut.keys,
                            at.values + std::int64_t{scores.key} * cut.value_depth, in_step<In> * cut.value_depth,
                            scores.keys, at.sums, cut.value_depth, rows, cut.value_depth, true, scores.along_keys());
    }
    for (int row = 0; row < rows; ++row) finish(at, row, image, head, first.query + row);
  }

  /// Replaces a row of scores by weights relative to the largest score so far. If this row raises the largest score,
  /// scales the row's total and its sums so far to the new largest score.
  void weigh(const score_tile<Sum>& tile, const space& at, int row) const {
    Sum* const scores = at.scores + std::int64_t{row} * cut.keys;
    const int seen = tile.keys_seen(row);
    std::fill(scores + seen, scores + cut.keys, Sum{0});
    if (seen == 0) return;
    if constexpr (in_pairs<In>) tile.scale(seen, scores);
    tile.mask(row, seen, mask, scores);
    const Sum before = at.largest[row], most = std::max(before, row_largest(scores, seen));
    const vec base = vec::fill(most == minus_infinity<Sum> ? 0 : most), by = vec::fill(binary_digits<Sum>);
    vec total = vec::load(at.total + row * vec::width);
    if (most > before && before != minus_infinity<Sum>) {
      const vec factor = exp2_below((vec::fill(before) - base) * by);
      Sum* const sums = at.sums + row * cut.value_depth;
      for (int j = 0; j < cut.value_depth; j += vec::width) (vec::load(sums + j) * factor).store(sums + j);
      total = total * factor;
    }
    at.largest[row] = most;
    const bool drops = plan.with.draw_row != nullptr;
    alignas(64) std::uint32_t words[costs::attention_tiles::most_tile_length];
    if (drops) tile.draw(row, seen, draws, words);
    const vec keep = vec::fill(static_cast<Sum>(1 / (1 - plan.with.dropout)));
    const auto least = static_cast<std::uint32_t>(plan.with.dropout * 0x1p32);
    const auto step = [=, &words, &total](int j, auto within) {
      const vec w = within(exp2_below((vec::load(scores + j) - base) * by));
      total = total + w;
      store_rounded<In>(drops ? where_at_least(w * keep, words + j, least) : w, scores, j);
    };
    const int whole = seen - seen % vec::width;
    for (int j = 0; j < whole; j += vec::width) step(j, [](vec x) { return x; });
    if (whole < seen) step(whole, [n = seen - whole](vec x) { return masked(x, n); });
    total.store(at.total + row * vec::width);
    if constexpr (in_pairs<In>) clear_after<In>(seen, cut.keys, scores);
  }

  void finish(const space& at, int row, std::int64_t image, int head, int query) const {
    const Sum total = sum(vec::load(at.total + row * vec::width));
    if (largest.data != nullptr) *largest.at(image, head, query) = total == 0 ? 0 : at.largest[row];
    if (log_total.data != nullptr) *log_total.at(image, head, query) = total == 0 ? 0 : std::log(total);
    if (y.data != nullptr)
      write_rows(at.sums + row * cut.value_depth, 0, 1, of.value_depth, total == 0 ? 0 : 1 / total,
                 y.at(image, head, query), 0);
  }
};

}  // namespace cairn::kernels

namespace cairn::lang {

template <costs::attending By, class Real, class Q, class K, class V, class... Options>
void compute(attention_op<By>, signature<Real, Q, K, V, Options...>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  using in = kernels::taken_of<Real, Q>;
  constexpr const auto& plan = kernels::attention_plan_of<By, in, Q, K, V, Options...>;
  constexpr auto options = static_cast<int>(sizeof...(Options));
  constexpr auto results = attention_op<By>::result(Q::shape, K::shape, V::shape);
  const kernels::attention_of_tiles<in, sum, kernels::made_of<Real>> all{
      .plan = plan,
      .q = kernels::rows_of<const in>(Q::shape, p[3], how.apart(0)),
      .k = kernels::rows_of<const in>(K::shape, p[4], how.apart(1)),
      .v = kernels::rows_of<const in>(V::shape, p[5], how.apart(2)),
      .mask = p[6],
      .draws = p[5 + options],
      .y = kernels::rows_of<kernels::made_of<Real>>(results[0], p[0]),
      .largest = kernels::rows_of<sum>(results[1], p[1]),
      .log_total = kernels::rows_of<sum>(results[2], p[2])};
  constexpr workspace scratch = attention_op<By>::scratch(sizeof(in), Q::shape, K::shape, V::shape);
  all.run(static_cast<in*>(p[6 + options]), scratch, how.threads);
}

}  // namespace cairn::lang
