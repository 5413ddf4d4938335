// Computes the cross entropy of a linear layer and its gradients without storing all logits. A block of rows is handled
// in two sweeps over the classes. The first sweep finds the largest logit of each row and the total of the exponentials
// relative to it (M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, 2018). The second sweep
// turns the logits into their gradients, and multiplies these. costs::linear_loss_blocks says where the logits are
// between the sweeps. Logits are transposed: {classes, rows}.
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
  using tiles = tile_extents<Real, P.row_gradient>;
  plans.row_gradient.packing[0] = &pack_tile<Real, tiles::rows>;
  plans.row_gradient.packing[1] = &pack_tile<Real, tiles::last_rows>;
  return plans;
}();

/// The blocks of rows, and the products of the first block, the last block, and the blocks between them.
template <class Real>
struct linear_loss_cut {
  costs::linear_loss_blocks blocks;
  linear_loss_plans<Real> first, other, last;

  const linear_loss_plans<Real>& plans_at(std::int64_t row) const {
    return row == 0 ? first : row + blocks.other.rows < blocks.rows ? other : last;
  }
};
template <class Real, costs::linear_loss_blocks B>
inline constexpr linear_loss_cut<Real> linear_loss_cut_of = [] {
  constexpr auto products = [](int rows) { return costs::linear_loss_products(rows, B.classes, B.features); };
  return linear_loss_cut<Real>{B, linear_loss_plans_of<Real, products(B.first.rows)>,
                               linear_loss_plans_of<Real, products(B.other.rows)>,
                               linear_loss_plans_of<Real, products(B.last.rows)>};
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
  const linear_loss_cut<Real>& all;
  Real *loss, *h_gradient, *weight_gradient, *row_losses, *label_logits;
  const Real *h, *weight;
  const Label* labels;
  row_numbers<Real> row_weights, label_weights;

  [[gnu::noinline]] void run(Real* scratch, const workspace& given, int threads) const {
    double sum = 0, rest = 0;
    for (std::int64_t row = 0; row < all.blocks.rows; row += all.blocks.block_at(row).rows)
      block{*this, all.blocks.block_at(row), all.plans_at(row), row, scratch, given, threads}.run(sum, rest);
    if (loss != nullptr) *loss = static_cast<Real>(sum);
  }

 private:
  /// A block of rows. For each row and chunk of a section there are two numbers: the largest logit, and the sum of the
  /// exponentials relative to it. For each row there are six more numbers: the logit at the label, the largest logit so
  /// far, the total so far and what rounding took from it, the factor that turns exponentials into gradients, and the
  /// gradient of the label's logit. The largest logits and the totals leave out the class of the label.
  struct block {
    const linear_cross_entropy& of;
    const costs::linear_loss_block& own;
    const linear_loss_plans<Real>& plans;
    std::int64_t first;
    Real* shared;
    const workspace& given;
    int threads;
    const costs::linear_loss_blocks& cut = of.all.blocks;
    const int rows = own.rows;
    const std::int64_t padded = cut.padded(rows);
    const bool in_gradient = first == 0 && cut.first_in_gradient,
               computes_twice = !in_gradient && own.section < cut.classes;
    Real* const scratch = shared + given.shared;
    Real* const chunk_largest = shared + cut.logit_numbers(own);
    Real* const chunk_totals = chunk_largest + cut.chunks_of(own.section) * padded;
    Real* const at_label = chunk_totals + cut.chunks_of(own.section) * padded;
    Real* const largest_logit = at_label + padded;
    Real* const totals = largest_logit + padded;
    Real* const lost = totals + padded;
    Real* const scale = lost + padded;
    Real* const label_gradient = scale + padded;
    const Label* const labels = of.labels + first;

    void run(double& sum, double& rest) const {
      for (Real* const zeros : {at_label, totals, lost}) std::fill_n(zeros, padded, Real{0});
      std::fill_n(largest_logit, padded, minus_infinity<Real>);
      in_sections([this](costs::range chunks) {
        in_chunks(chunks, [this](int chunk, Real* part) {
          compute_logits(chunk, logits_of(chunk), part);
          measure(chunk);
        });
        join_chunks(chunks);
      });
      finish_rows(sum, rest);
      if (of.weight_gradient == nullptr && of.h_gradient == nullptr) return;
      in_sections([this](costs::range chunks) {
        in_chunks(chunks, [this](int chunk, Real* part) {
          const logit_matrix gradient{part, own.apart};
          part += cut.chunk_numbers(own);
          if (computes_twice) compute_logits(chunk, gradient, part);
          make_gradient(chunk, computes_twice ? gradient : logits_of(chunk), gradient);
          if (of.weight_gradient != nullptr) add_weight_gradient(chunk, gradient, part);
          if (of.h_gradient != nullptr) pack_gradient(chunk, gradient);
        });
        if (of.h_gradient != nullptr)
          in_columns([this, chunks](costs::range columns, Real* part) {
            for (auto c = chunks.begin; c < chunks.end; ++c) add_row_gradient(static_cast<int>(c), columns, part);
          });
      });
    }

   private:
    int begin(int chunk) const { return chunk * cut.chunk; }
    int end(int chunk) const { return std::min(cut.classes, begin(chunk) + cut.chunk); }
    /// Logits or gradients of a chunk {classes, rows}.
    struct logit_matrix {
      Real* from;
      std::int64_t apart;
      Real* row(int k) const { return from + k * apart; }
    };
    /// Returns the logits of a chunk, which stay between the sweeps, or at least while the section is handled.
    logit_matrix logits_of(int chunk) const {
      if (!in_gradient) return {section_part(chunk), own.apart};
      return {of.weight_gradient + std::int64_t{begin(chunk)} * cut.features, cut.features};
    }
    /// Returns the numbers of a chunk in the workspace for a section. There, the packed gradient replaces the logits.
    Real* section_part(int chunk) const { return shared + begin(chunk) % own.section * own.apart; }
    Real* of_chunk(Real* numbers, std::int64_t chunk) const {
      return numbers + chunk % cut.chunks_of(own.section) * padded;
    }

    /// Calls visit(chunks) for each section.
    template <class Visit>
    void in_sections(Visit visit) const {
      const std::int64_t step = cut.chunks_of(own.section), chunks = cut.chunks_of(cut.classes);
      for (std::int64_t c = 0; c < chunks; c += step) visit(costs::range{c, std::min(chunks, c + step)});
    }

    /// Calls visit(chunk, workspace) for some chunks. Threads share the chunks.
    template <class Visit>
    void in_chunks(costs::range chunks, Visit visit) const {
      const std::int64_t count = chunks.end - chunks.begin;
      const int parts = std::min(cut.parts(own, static_cast<int>(count)), threads);
      in_parts(parts, [this, parts, chunks, count, &visit](int part) {
        const costs::range some = costs::share(count, 1, part, parts);
        for (auto c = some.begin; c < some.end; ++c)
          visit(static_cast<int>(chunks.begin + c), scratch + part * given.each);
      });
    }

    /// Calls visit(columns, workspace) for ranges that together are the features. Threads share the features.
    template <class Visit>
    void in_columns(Visit visit) const {
      const int unit = plans.row_gradient.cut.tile_columns, units = (cut.features + unit - 1) / unit;
      const int parts = std::min(cut.parts(own, units), threads);
      in_parts(parts, [this, parts, unit, &visit](int part) {
        visit(costs::share(cut.features, unit, part, parts), scratch + part * given.each);
      });
    }

    void compute_logits(int chunk, logit_matrix to, Real* part) const {
      const std::int64_t top = begin(chunk);
      multiplication(plans.logits, of.weight + top * cut.features, of.h + first * cut.features, to.from)
          .run_rows(begin(chunk), end(chunk), false, to.apart, part);
    }

    /// Moves the logits at the labels to `at_label`, and finds the largest of the chunk's other logits and the total of
    /// their exponentials.
    void measure(int chunk) const {
      const logit_matrix logits = logits_of(chunk);
      const int top = begin(chunk), classes = end(chunk) - top;
      for (int i = 0; i < rows; ++i)
        if (labels[i] >= top && labels[i] < top + classes)
          at_label[i] = std::exchange(logits.row(static_cast<int>(labels[i]) - top)[i], minus_infinity<Real>);
      for (int j = 0; j < rows; j += vec::width) {
        const auto load = [logits, j, this](int k) { return load_row(logits.row(k), j, rows, minus_infinity<Real>); };
        vec most = load(0);
        for (int k = 1; k < classes; ++k) most = max(load(k), most);
        most.store(of_chunk(chunk_largest, chunk) + j);
        const vec base = finite_base(most);
        sum_in_sections<vec>(classes, [&load, base](std::int64_t k) {
          return exp(load(static_cast<int>(k)) - base);
        }).store(of_chunk(chunk_totals, chunk) + j);
      }
    }
    /// Returns the largest logits, or 0 for rows without logits above minus infinity.
    static vec finite_base(vec most) {
      return select(equal(most, vec::fill(minus_infinity<Real>)), vec::fill(0), most);
    }

    /// Joins the totals of the chunks of a section to the totals of the rows, one chunk after another. So the order
    /// does not depend on the sections.
    void join_chunks(costs::range chunks) const {
      for (int j = 0; j < rows; j += vec::width) {
        vec most = vec::load(largest_logit + j), total = vec::load(totals + j), rest = vec::load(lost + j);
        for (auto c = chunks.begin; c < chunks.end; ++c) {
          const vec of_chunk_most = vec::load(of_chunk(chunk_largest, c) + j), next = max(of_chunk_most, most),
                    base = finite_base(next), factor = exp(most - base);
          total = total * factor;
          rest = fused(rest, factor, vec::load(of_chunk(chunk_totals, c) + j) * exp(of_chunk_most - base));
          join(total, rest);
          most = next;
        }
        most.store(largest_logit + j);
        total.store(totals + j);
        rest.store(lost + j);
      }
    }

    /// Writes the numbers of the rows, and adds the rows' losses to a sum.
    void finish_rows(double& sum, double& rest) const {
      for (int j = 0; j < rows; j += vec::width) {
        const vec label = vec::load(at_label + j), most_other = vec::load(largest_logit + j);
        const vec most = max(most_other, label), others = vec::load(totals + j) * exp(most_other - most);
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

    /// Computes the gradient of the logits of a chunk. The gradient may take the place of the logits.
    void make_gradient(int chunk, logit_matrix logits, logit_matrix gradient) const {
      const int top = begin(chunk), classes = end(chunk) - top;
      for (int k = 0; k < classes; ++k)
        for (int j = 0; j < rows; j += vec::width) {
          const vec e = exp(load_row(logits.row(k), j, rows, minus_infinity<Real>) - vec::load(largest_logit + j));
          store_row(e * vec::load(scale + j), gradient.row(k), j, rows);
        }
      for (int i = 0; i < rows; ++i)
        if (labels[i] >= top && labels[i] < top + classes)
          gradient.row(static_cast<int>(labels[i]) - top)[i] = label_gradient[i];
    }

    /// Adds the product of a chunk's gradient of the logits with h to the gradient of the weight. The first block
    /// writes the gradient, over its logits if these are there.
    void add_weight_gradient(int chunk, logit_matrix gradient, Real* part) const {
      const std::int64_t features = cut.features, top = begin(chunk);
      multiplication(plans.weight_gradient, gradient.from, of.h + first * features, of.weight_gradient + top * features,
                     nullptr, gradient.apart)
          .run_rows(begin(chunk), end(chunk), first > 0, features, part);
    }

    /// Packs a chunk's gradient of the logits as strips of rows, as the tiles of the gradient of h read them.
    void pack_gradient(int chunk, logit_matrix gradient) const {
      constexpr int few = 8;  // classes at a time, so that few cache lines are written by turns
      const int steps = end(chunk) - begin(chunk), tile_rows = plans.row_gradient.cut.tile_rows;
      Real* const to = section_part(chunk);
      for (int p = 0; p < steps; p += few)
        for (int i = 0; i < rows; i += tile_rows)
          plans.row_gradient.pack(i + tile_rows > rows, gradient.from + i, gradient.apart, p, std::min(p + few, steps),
                                  steps, to + std::int64_t{i} * steps);
    }

    /// Adds the product of a chunk's gradient of the logits with the chunk of the weight to the gradient of h, in some
    /// columns. The weight is packed a few rows at a time, because a processor fetches ahead what is read in order.
    void add_row_gradient(int chunk, costs::range columns, Real* packed) const {
      constexpr int few = 8;
      const int top = begin(chunk), steps = end(chunk) - top, last_column = static_cast<int>(columns.end);
      const shared_plan<Real>& plan = plans.row_gradient;
      const int unit = plan.cut.tile_columns, whole = rows - plan.rows_left;
      const tile_target<Real> to{of.h_gradient + first * cut.features, cut.features, chunk > 0,
                                 plan.cut.c_exceeds_cache, nullptr};
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
        const Real* const gradient = section_part(chunk);
        for (int j = left; j < right; j += unit) {
          const int width = std::min(unit, right - j);
          const Real* const panel = packed + (j - left) * steps;
          const int tile_rows = plan.cut.tile_rows;
          const tile_source from{tile_rows, std::int64_t{tile_rows} * steps, cut.filled(width), steps},
              rest{plan.rows_left, 0, cut.filled(width), steps};
          if (whole > 0) plan.tiles(false, width < unit, gradient, panel, from, to, 0, j, width, whole);
          if (whole < rows)
            plan.tiles(true, width < unit, gradient + std::int64_t{whole} * steps, panel, rest, to, whole, j, width,
                       plan.rows_left);
        }
      }
    }
  };
};

/// Runs the kernel. The results are the loss, the gradients of h and of the weight, and the two numbers for each row.
template <class Op, class Real, class H, class W, class L, class RowWeights, class LabelWeights>
void run_linear_cross_entropy(void* const* arguments, void* const (&results)[5], int threads) {
  using label = taken_of<Real, L>;
  constexpr int bytes = sizeof(Real);
  const linear_loss_cut<Real>& all = results[2] != nullptr
                                         ? linear_loss_cut_of<Real, Op::blocks(bytes, H::shape, W::shape, true)>
                                         : linear_loss_cut_of<Real, Op::blocks(bytes, H::shape, W::shape, false)>;
  const auto real = [arguments](int i) { return static_cast<const Real*>(arguments[i]); };
  const auto made = [&results](int i) { return static_cast<Real*>(results[i]); };
  linear_cross_entropy<Real, label>{.all = all,
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
      .run(static_cast<Real*>(arguments[5]), Op::scratch(bytes, H::shape, W::shape), threads);
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
