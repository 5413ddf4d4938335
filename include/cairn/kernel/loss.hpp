// Losses of logits {N, C} against N class indices in [0, C).
#pragma once

#include "cairn/kernel/norm.hpp"

#include <algorithm>
#include <numeric>

namespace cairn::kernel {

/// The mean of term(row) over N rows, summed in double. Many are summed in sections, the same for any number of
/// threads.
template <std::int64_t Work, int N, class Term>
double mean_of_rows(int threads, Term term) {
  constexpr int sections = parts_of(Work, N) == 1 ? 1 : std::min(N, 64);
  double sums[sections];
  in_shares<Work, sections>(threads, [&sums, term](range own) {
    for (auto s = own.begin; s < own.end; ++s) {
      const range rows = share(N, 1, static_cast<int>(s), sections);
      double sum = 0;
      for (auto row = rows.begin; row < rows.end; ++row) sum += term(row);
      sums[s] = sum;
    }
  });
  return std::accumulate(sums, sums + sections, 0.0) / N;
}

/// loss {} = the mean over rows of log(sum exp(row)) - row[label].
template <class Real, int N, int C>
void cross_entropy(const Real* logits, const std::int32_t* labels, Real* loss, int threads = 1) {
  constexpr std::int64_t work = normalizing * N * C;
  *loss = static_cast<Real>(mean_of_rows<work, N>(threads, [=](std::int64_t i) {
    const Real* row = logits + i * C;
    const Real most = row_largest<C>(row);
    return most - row[labels[i]] + std::log(row_sum_exp<C>(row, most));
  }));
}

/// out {N, C} = softmax(row) - onehot(label): N times the gradient of cross_entropy. out == logits is
/// allowed.
template <class Real, int N, int C>
void softmax_error(const Real* logits, const std::int32_t* labels, Real* out, int threads = 1) {
  in_shares<normalizing * N * C, N>(threads, [=](range own) {
    for (auto i = own.begin; i < own.end; ++i) normalize_row<normalized::softmax, C>(logits + i * C, out + i * C);
    for (auto i = own.begin; i < own.end; ++i) out[i * C + labels[i]] -= 1;
  });
}

/// out {} = the fraction of rows whose largest logit, the first if there are several, is the label's.
template <class Real, int N, int C>
void accuracy(const Real* logits, const std::int32_t* labels, Real* out, int threads = 1) {
  constexpr std::int64_t work = (2 * 10 + 40) * std::int64_t{N} * C;
  *out = static_cast<Real>(mean_of_rows<work, N>(threads, [=](std::int64_t i) {
    const Real* row = logits + i * C;
    return std::find(row, row + C, row_largest<C>(row)) - row == labels[i] ? 1 : 0;
  }));
}

}  // namespace cairn::kernel
