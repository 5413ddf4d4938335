// Losses of logits {N, C} against N class indices in [0, C).
#pragma once

#include "cairn/kernel/norm.hpp"

#include <algorithm>

namespace cairn::kernel {

/// loss {} = the mean over rows of log(sum exp(row)) - row[label].
template <class Real, int N, int C>
void cross_entropy(const Real* logits, const std::int32_t* labels, Real* loss) {
  double total = 0;
  for (const Real* row = logits; row < logits + std::int64_t{N} * C; row += C) {
    const Real most = row_largest<C>(row);
    total += most - row[*labels++] + std::log(row_sum_exp<C>(row, most));
  }
  *loss = static_cast<Real>(total / N);
}

/// out {N, C} = softmax(row) - onehot(label): N times the gradient of cross_entropy. out == logits is
/// allowed.
template <class Real, int N, int C>
void softmax_error(const Real* logits, const std::int32_t* labels, Real* out) {
  softmax<Real, shape{N, C}, 1>(logits, out);
  for (std::int64_t row = 0; row < N; ++row) out[row * C + labels[row]] -= 1;
}

/// out {} = the fraction of rows whose largest logit, the first if there are several, is the label's.
template <class Real, int N, int C>
void accuracy(const Real* logits, const std::int32_t* labels, Real* out) {
  int right = 0;
  for (const Real* row = logits; row < logits + std::int64_t{N} * C; row += C)
    right += std::find(row, row + C, row_largest<C>(row)) - row == *labels++;
  *out = static_cast<Real>(right) / N;
}

}  // namespace cairn::kernel
