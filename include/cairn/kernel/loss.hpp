// These kernels compute losses of logits {rows, classes} against labels, which are class indices in [0, classes).
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/op/loss.hpp"

#include <algorithm>
#include <numeric>

namespace cairn::kernels {

/// Logits {rows, classes} and labels {rows}.
template <class In, class Label = std::int32_t>
struct labelled_rows {
  using real = sum_of<In>;
  const In* logits;
  const Label* labels;
  std::int64_t rows;
  int classes;

  const In* row(std::int64_t i) const { return logits + i * classes; }
  real at_label(std::int64_t i) const { return static_cast<real>(row(i)[labels[i]]); }
  auto loss(std::int64_t i) const {
    const real most = row_largest(row(i), classes);
    return most - at_label(i) + std::log(row_sum_exp(row(i), classes, most));
  }
  std::int64_t row_bytes() const { return classes * static_cast<int>(sizeof(In)); }
};

/// Computes the mean of term(row) over all rows, summed in double. `work` is the work for one row. If the total work is
/// worth more than one thread, the rows are divided into sections. The sections do not depend on the number of threads.
template <class Rows, class Term>
double mean_of_rows(const Rows& x, std::int64_t work, const launch& how, Term term) {
  constexpr std::int64_t most = 64;
  work *= x.rows;
  const int sections = parts_of(work, x.rows) == 1 ? 1 : static_cast<int>(std::min(x.rows, most));
  double sums[most];
  shares{work, sections}(how.threads, [&](costs::range own) {
    for (auto s = own.begin; s < own.end; ++s) {
      double sum = 0, rest = 0;
      how.in_rows(costs::share(x.rows, 1, static_cast<int>(s), sections), x.row_bytes(), [&](costs::range some) {
        for (auto row = some.begin; row < some.end; ++row) {
          rest += static_cast<double>(term(row));
          join(sum, rest);
        }
      });
      sums[s] = sum;
    }
  });
  return std::accumulate(sums, sums + sections, 0.0) / static_cast<double>(x.rows);
}

/// Computes the mean over rows of log(sum exp(row)) - row[label].
template <class In, class Label>
[[gnu::noinline]] sum_of<In> cross_entropy(const labelled_rows<In, Label>& x, const launch& how = {}) {
  const auto of_row = [&x](std::int64_t i) { return x.loss(i); };
  return static_cast<sum_of<In>>(mean_of_rows(x, normalizing * x.classes, how, of_row));
}

/// Computes out {rows} = log(sum exp(row)) - row[label].
template <class In, class Label>
[[gnu::noinline]] void row_cross_entropy(const labelled_rows<In, Label>& x, sum_of<In>* out, const launch& how = {}) {
  shares{normalizing * x.rows * x.classes, x.rows}(how.threads, [&x, &how, out](costs::range own) {
    how.in_rows(own, x.row_bytes(), [&x, out](costs::range some) {
      for (auto i = some.begin; i < some.end; ++i) out[i] = static_cast<sum_of<In>>(x.loss(i));
    });
  });
}

/// Computes softmax(row) - onehot(label) for a row of n numbers. At the label, the result is computed as minus the sum
/// of the other probabilities. This sum is accurate even if the probability of the label rounds to 1. out == row is
/// allowed. If the result is bf16, it is rounded from the same numbers.
template <class In, class Out>
void softmax_error_of_row(const In* row, std::int64_t label, Out* out, int n) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  const exponentials_of_row<In, Out> exponentials(row, out, n);
  real at_label = 0;
  const real others = sum(sum_of_row<vec>(n, [=, &at_label](int i) {
    const vec e = exponentials.at(i);
    if (label < i || label >= i + vec::width) return e;
    const int lane = static_cast<int>(label) - i;
    const vec alone = masked(e, lane + 1) - masked(e, lane);
    at_label = sum(alone);
    return e - alone;
  }));
  const real total = others + at_label;
  exponentials.divide(total);
  out[label] = static_cast<Out>(-others / total);
}

/// Computes out {rows, classes} = softmax(row) - onehot(label), which is `rows` times the gradient of cross_entropy.
/// out == logits is allowed.
template <class In, class Label, class Out>
[[gnu::noinline]] void softmax_error(const labelled_rows<In, Label>& x, Out* out, const launch& how = {}) {
  shares{normalizing * x.rows * x.classes, x.rows}(how.threads, [&x, &how, out](costs::range own) {
    how.in_rows(own, x.row_bytes(), [&x, out](costs::range some) {
      for (auto i = some.begin; i < some.end; ++i) {
        softmax_error_of_row(x.row(i), x.labels[i], out + i * x.classes, x.classes);
      }
    });
  });
}

/// Computes the fraction of rows whose largest logit is that of the label. If several logits are the largest, the first
/// of these counts.
template <class In, class Label>
[[gnu::noinline]] sum_of<In> accuracy(const labelled_rows<In, Label>& x, const launch& how = {}) {
  const std::int64_t work = (2 * 10 + 40) * std::int64_t{x.classes};
  return static_cast<sum_of<In>>(mean_of_rows(x, work, how, [&x](std::int64_t i) {
    const In* row = x.row(i);
    const auto is_most = [most = row_largest(row, x.classes)](In e) { return static_cast<sum_of<In>>(e) == most; };
    const auto found = std::find_if(row, row + x.classes, is_most) - row;  // x.classes for a row with NaN
    return found < x.classes && found == x.labels[i] ? 1 : 0;
  }));
}

/// Returns operand 1 of an operation as logits and operand 2 as labels.
template <class Numbers, class X, class L>
auto rows_of(void* const* p) {
  using in = taken_of<Numbers, X>;
  using label = taken_of<Numbers, L>;
  return labelled_rows<in, label>{static_cast<const in*>(p[1]), static_cast<const label*>(p[2]), L::shape.count(),
                                  X::shape[-1]};
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <class Real, class X, class L>
void compute(cross_entropy_op, signature<Real, X, L>, void* const* p, const kernels::launch& how) {
  *static_cast<kernels::sum_of<Real>*>(p[0]) = kernels::cross_entropy(kernels::rows_of<Real, X, L>(p), how);
}
template <class Real, class X, class L>
void compute(row_cross_entropy_op, signature<Real, X, L>, void* const* p, const kernels::launch& how) {
  kernels::row_cross_entropy(kernels::rows_of<Real, X, L>(p), static_cast<kernels::sum_of<Real>*>(p[0]), how);
}
template <class Real, class X, class L>
void compute(label_logit_op, signature<Real, X, L>, void* const* p, const kernels::launch&) {
  const auto x = kernels::rows_of<Real, X, L>(p);
  for (std::int64_t i = 0; i < x.rows; ++i) static_cast<kernels::sum_of<Real>*>(p[0])[i] = x.at_label(i);
}
template <class Real, class X, class L>
void compute(softmax_error_op, signature<Real, X, L>, void* const* p, const kernels::launch& how) {
  kernels::softmax_error(kernels::rows_of<Real, X, L>(p), static_cast<kernels::made_of<Real>*>(p[0]), how);
}
template <class Real, class X, class L>
void compute(accuracy_op, signature<Real, X, L>, void* const* p, const kernels::launch& how) {
  *static_cast<kernels::sum_of<Real>*>(p[0]) = kernels::accuracy(kernels::rows_of<Real, X, L>(p), how);
}

template <int Classes, int Last, class V>
[[gnu::always_inline]] inline V lanewise(capped_label_op<Classes, Last>, V a) {
  using kernels::greater, kernels::select;
  const V last = kernels::all<V>(Classes - 1);
  return select(greater(last, a), a, last);
}

}  // namespace cairn::lang
