// Computes the cross entropy of a linear layer and its gradients without storing all logits. The logits of one block of
// rows at a time lie in the workspace, transposed: {classes, rows}. First each chunk of classes is turned into
// exponentials relative to the chunk's largest logit of each row (M. Milakov and N. Gimelshein, Online normalizer
// calculation for softmax, 2018). After the totals of all chunks are known, each chunk is scaled to the gradient of
// its logits.
#pragma once

#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/op/linear_cross_entropy.hpp"

namespace cairn::kernels {

/// The products of a block.
template <class Real>
struct linear_loss_plans {
  shared_plan<Real> logits, weight_gradient, row_gradient;
};
template <class Real, costs::linear_loss_products P>
inline constexpr linear_loss_plans<Real> linear_loss_plans_of = [] {
  linear_loss_plans<Real> plans{shared_plan_of<Real, P.logits>, shared_plan_of<Real, P.weight_gradient>,
                                shared_plan_of<Real, P.row_gradient>};
  plans.logits.cut = P.logits_blocking(sizeof(Real));
  plans.weight_gradient.cut = P.weight_gradient_blocking(sizeof(Real));
  return plans;
}();

/// One number for each row, or the same number for all rows if `step` is 0.
template <class Real>
struct row_numbers {
  const Real* data;
  int step;
  Real operator[](std::int64_t i) const { return data[i * step]; }
};

/// The whole computation. The results may be null. A gradient that is null costs no product.
template <class Real, class Label>
struct linear_cross_entropy {
  using vec = lanes<Real>;
  const costs::linear_loss_blocks& cut;
  const linear_loss_plans<Real>&whole, &last;  ///< for a block, and for the last block
  Real *loss, *h_gradient, *weight_gradient, *row_losses, *label_logits;
  const Real *h, *weight;
  const Label* labels;
  row_numbers<Real> row_weights, label_weights;

  [[gnu::noinline]] void run(Real* scratch, const workspace& given, int threads) const {
    Real* const shared = scratch;
    scratch += given.shared;
    double sum = 0, rest = 0;
    for (std::int64_t row = 0; row < cut.rows; row += cut.block_rows) {
      const bool is_last = row + cut.block_rows >= cut.rows;
      block{*this,  is_last ? last : whole, row, is_last ? cut.last_rows : cut.block_rows, shared, scratch, given.each,
            threads}
          .run(sum, rest);
    }
    if (loss != nullptr) *loss = static_cast<Real>(sum);
  }

 private:
  /// A block of rows. For each row and chunk there are two numbers: the largest logit, and the sum of the exponentials
  /// relative to it. Both leave out the class of the label. For each row there are four more numbers: the logit at the
  /// label, the largest logit, the factor that turns exponentials into gradients, and the gradient of the label's
  /// logit.
  struct block {
    const linear_cross_entropy& of;
    const linear_loss_plans<Real>& plans;
    std::int64_t first;
    int rows;
    Real *shared, *scratch;
    std::int64_t scratch_each;
    int threads;
    const costs::linear_loss_blocks& cut = of.cut;
    const int padded = cut.padded_rows(), chunks = cut.chunks();
    Real* const logits = shared;
    Real* const chunk_largest = logits + cut.logit_numbers();
    Real* const chunk_totals = chunk_largest + std::int64_t{chunks} * padded;
    Real* const at_label = chunk_totals + std::int64_t{chunks} * padded;
    Real* const largest_logit = at_label + padded;
    Real* const scale = largest_logit + padded;
    Real* const label_gradient = scale + padded;
    const Label* const labels = of.labels + first;

    void run(double& sum, double& rest) const {
      std::fill_n(at_label, padded, Real{0});
      in_chunks([this](int chunk, Real* own) { exponentiate(chunk, own); });
      finish_rows(sum, rest);
      if (of.weight_gradient == nullptr && of.h_gradient == nullptr) return;
      in_chunks([this](int chunk, Real* own) {
        scale_chunk(chunk);
        if (of.weight_gradient == nullptr) return;
        const std::int64_t features = cut.features;
        multiplication(plans.weight_gradient, logits, of.h + first * features, of.weight_gradient)
            .run_rows(begin(chunk), end(chunk), first > 0, own);
      });
      if (of.h_gradient != nullptr)
        in_columns([this](costs::range columns, Real* own) {
          for (int chunk = 0; chunk < chunks; ++chunk) add_row_gradient(chunk, columns, own);
        });
    }

   private:
    int begin(int chunk) const { return chunk * cut.chunk; }
    int end(int chunk) const { return std::min(cut.classes, begin(chunk) + cut.chunk); }
    Real* logits_of(int c) const { return logits + std::int64_t{c} * rows; }

    /// Calls visit(chunk, workspace) for each chunk. Threads share the chunks.
    template <class Visit>
    void in_chunks(Visit visit) const {
      const int parts = std::min(cut.parts(rows, chunks), threads);
      in_parts(parts, [this, parts, &visit](int part) {
        const costs::range own = costs::share(chunks, 1, part, parts);
        for (auto c = own.begin; c < own.end; ++c) visit(static_cast<int>(c), scratch + part * scratch_each);
      });
    }

    /// Calls visit(columns, workspace) for ranges that together are the features. Threads share the features.
    template <class Visit>
    void in_columns(Visit visit) const {
      const int unit = plans.row_gradient.cut.tile_columns, units = (cut.features + unit - 1) / unit;
      const int parts = std::min(cut.parts(rows, units), threads);
      in_parts(parts, [this, parts, unit, &visit](int part) {
        visit(costs::share(cut.features, unit, part, parts), scratch + part * scratch_each);
      });
    }

    /// Computes the logits of a chunk, moves the logits at the labels to `at_label`, and replaces all other logits by
    /// their exponentials.
    void exponentiate(int chunk, Real* own) const {
      const int top = begin(chunk), bottom = end(chunk);
      multiplication(plans.logits, of.weight, of.h + first * cut.features, logits).run_rows(top, bottom, false, own);
      for (int i = 0; i < rows; ++i) {
        if (labels[i] < top || labels[i] >= bottom) continue;
        Real& here = logits_of(static_cast<int>(labels[i]))[i];
        at_label[i] = std::exchange(here, minus_infinity<Real>);
      }
      Real* const largest_of = chunk_largest + std::int64_t{chunk} * padded;
      Real* const total_of = chunk_totals + std::int64_t{chunk} * padded;
      for (int j = 0; j < rows; j += vec::width) {
        vec most = load_row(logits_of(top), j, rows, minus_infinity<Real>);
        for (int c = top + 1; c < bottom; ++c) most = max(load_row(logits_of(c), j, rows, minus_infinity<Real>), most);
        most.store(largest_of + j);
        const vec base = finite_base(most);
        sum_in_sections<vec>(bottom - top, [this, top, j, base](std::int64_t k) {
          Real* const row = logits_of(top + static_cast<int>(k));
          const vec e = exp(load_row(row, j, rows, minus_infinity<Real>) - base);
          store_row(e, row, j, rows);
          return e;
        }).store(total_of + j);
      }
    }
    /// Returns the largest logits, or 0 for rows without logits above minus infinity.
    static vec finite_base(vec most) {
      return select(equal(most, vec::fill(minus_infinity<Real>)), vec::fill(0), most);
    }

    /// Joins the chunks of each row, writes the numbers of the rows, and adds the rows' losses to a sum.
    void finish_rows(double& sum, double& rest) const {
      for (int j = 0; j < rows; j += vec::width) {
        const vec label = vec::load(at_label + j);
        vec most = label;
        for (int s = 0; s < chunks; ++s) most = max(vec::load(chunk_largest + s * std::int64_t{padded} + j), most);
        const vec others = sum_in_sections<vec>(chunks, [this, j, most](std::int64_t s) {
          const vec chunk = vec::load(chunk_totals + s * padded + j);
          return chunk * exp(vec::load(chunk_largest + s * padded + j) - most);
        });
        most.store(largest_logit + j);
        others.store(label_gradient + j);
        (others + exp(label - most)).store(scale + j);  // the total, for now
      }
      for (int i = 0; i < rows; ++i) {
        const Real total = scale[i], of_row = largest_logit[i] - at_label[i] + std::log(total);
        const Real w = of.row_weights[first + i], v = of.label_weights[first + i];
        if (of.row_losses != nullptr) of.row_losses[first + i] = of_row;
        if (of.label_logits != nullptr) of.label_logits[first + i] = at_label[i];
        scale[i] = w / total;
        label_gradient[i] = v - w * (label_gradient[i] / total);
        if (w != 0) rest += static_cast<double>(w) * static_cast<double>(of_row);
        if (v != 0) rest += static_cast<double>(v) * static_cast<double>(at_label[i]);
        join(sum, rest);
      }
    }

    /// Adds the product of a chunk's gradient of the logits with the chunk of the weight to the gradient of h, in some
    /// columns. The weight is packed a few rows at a time, because a processor fetches ahead what is read in order.
    void add_row_gradient(int chunk, costs::range columns, Real* packed) const {
      constexpr int few = 8;
      const int top = begin(chunk), steps = end(chunk) - top, last_column = static_cast<int>(columns.end);
      const shared_plan<Real>& plan = plans.row_gradient;
      const int unit = plan.cut.tile_columns, whole = rows - plan.rows_left;
      const tile_target<Real> to{of.h_gradient + first * cut.features, cut.features, chunk > 0, false, nullptr};
      for (int left = static_cast<int>(columns.begin); left < last_column; left += cut.packed_columns) {
        const int right = std::min(left + cut.packed_columns, last_column);
        for (int p = 0; p < steps; p += few) {
          const Real* const row = of.weight + std::int64_t{top + p} * cut.features;
          for (int j = left; j < right; j += unit) {
            const int width = std::min(unit, right - j), filled = cut.filled(width);
            Real* const panel = packed + (j - left) * steps + p * filled;
            pack_columns(row + j, cut.features, width, std::min(few, steps - p), filled, panel);
          }
        }
        const Real* const slopes = logits_of(top);
        for (int j = left; j < right; j += unit) {
          const int width = std::min(unit, right - j);
          const Real* const panel = packed + (j - left) * steps;
          const tile_source from{rows, plan.cut.tile_rows, cut.filled(width), steps};
          if (whole > 0) plan.tiles(false, width < unit, slopes, panel, from, to, 0, j, width, whole);
          if (whole < rows)
            plan.tiles(true, width < unit, slopes + whole, panel, from, to, whole, j, width, plan.rows_left);
        }
      }
    }

    /// Turns the exponentials of a chunk into the gradient of the logits.
    void scale_chunk(int chunk) const {
      const int top = begin(chunk), bottom = end(chunk);
      const Real* const largest_of = chunk_largest + std::int64_t{chunk} * padded;
      for (int j = 0; j < rows; j += vec::width) {
        const vec to_total = exp(vec::load(largest_of + j) - vec::load(largest_logit + j));
        const vec factor = vec::load(scale + j) * to_total;
        for (int c = top; c < bottom; ++c) {
          Real* const row = logits_of(c);
          store_row(load_row(row, j, rows) * factor, row, j, rows);
        }
      }
      for (int i = 0; i < rows; ++i)
        if (labels[i] >= top && labels[i] < bottom) logits_of(static_cast<int>(labels[i]))[i] = label_gradient[i];
    }
  };
};

/// Runs the kernel. The results are the loss, the gradients of h and of the weight, and the two numbers for each row.
template <class Op, class Real, class H, class W, class L, class RowWeights, class LabelWeights>
void run_linear_cross_entropy(void* const* arguments, void* const (&results)[5], int threads) {
  using label = taken_of<Real, L>;
  static constexpr costs::linear_loss_blocks cut = Op::blocks(sizeof(Real), H::shape, W::shape);
  constexpr auto plans = []<int Rows>(std::integral_constant<int, Rows>) -> const linear_loss_plans<Real>& {
    return linear_loss_plans_of<Real, costs::linear_loss_products(Rows, cut.classes, cut.features)>;
  };
  const auto real = [arguments](int i) { return static_cast<const Real*>(arguments[i]); };
  const auto made = [&results](int i) { return static_cast<Real*>(results[i]); };
  linear_cross_entropy<Real, label>{.cut = cut,
                                    .whole = plans(std::integral_constant<int, cut.block_rows>{}),
                                    .last = plans(std::integral_constant<int, cut.last_rows>{}),
                                    .loss = made(0),
                                    .h_gradient = made(1),
                                    .weight_gradient = made(2),
                                    .row_losses = made(3),
                                    .label_logits = made(4),
                                    .h = real(0),
                                    .weight = real(1),
                                    .labels = static_cast<const label*>(arguments[2]),
                                    .row_weights = {real(3), RowWeights::shape.rank == 0 ? 0 : 1},
                                    .label_weights = {real(4), LabelWeights::shape.rank == 0 ? 0 : 1}}
      .run(static_cast<Real*>(arguments[5]), cut.needed(sizeof(Real)), threads);
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <std::int64_t Workspace, class Real, class... X>
void compute(linear_cross_entropy_op<Workspace>, signature<Real, X...>, void* const* p, const kernels::launch& how) {
  kernels::run_linear_cross_entropy<linear_cross_entropy_op<Workspace>, Real, X...>(
      p + 5, {p[0], p[1], p[2], p[3], p[4]}, how.threads);
}
template <std::int64_t Workspace, class Real, class... X>
void compute(linear_cross_entropy_loss_op<Workspace>, signature<Real, X...>, void* const* p,
             const kernels::launch& how) {
  kernels::run_linear_cross_entropy<linear_cross_entropy_loss_op<Workspace>, Real, X...>(
      p + 4, {p[0], p[1], nullptr, p[2], p[3]}, how.threads);
}
template <std::int64_t Workspace, class Real, class... X>
void compute(linear_cross_entropy_weight_op<Workspace>, signature<Real, X...>, void* const* p,
             const kernels::launch& how) {
  kernels::run_linear_cross_entropy<linear_cross_entropy_weight_op<Workspace>, Real, X...>(
      p + 1, {nullptr, nullptr, p[0], nullptr, nullptr}, how.threads);
}

}  // namespace cairn::lang
