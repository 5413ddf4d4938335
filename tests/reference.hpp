// The plain loops against which kernels are tested. Sums are computed in double. A comment shows the shape of each array
// in braces.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/base/shape.hpp"
#include "cairn/cost/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace reference {

using namespace cairn;

/// Computes c {m, n} = op(a) op(b). `a` is {m, k} or, if transposed, {k, m}. `b` is {k, n} or {n, k}.
template <class Real>
void matmul(const Real* a, const Real* b, Real* c, int m, int n, int k, bool transpose_a, bool transpose_b) {
  const int step_a = transpose_a ? m : 1, step_b = transpose_b ? 1 : n;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      int x = transpose_a ? i : i * k, y = transpose_b ? j * k : j;
      for (int p = 0; p < k; ++p, x += step_a, y += step_b) sum += double{a[x]} * b[y];
      c[i * n + j] = static_cast<Real>(sum);
    }
}

/// Calls visit(i, j, k) for each product of a convolution: element i of the images {N, H, W, C} times element j of the
/// filter {O, C / groups, rows, columns} is a term of element k of the result {N, H', W', O}.
template <class Visit>
void for_each_tap(const shape& image, const shape& filter, const shape& result, nn::extents stride, nn::extents padding,
                  nn::extents dilation, int groups, Visit visit) {
  for (int n = 0; n < result[0]; ++n)
    for (int i = 0; i < result[1]; ++i)
      for (int k = 0; k < result[2]; ++k)
        for (int r = 0; r < filter[2]; ++r)
          for (int q = 0; q < filter[3]; ++q) {
            const int y = i * stride[0] - padding[0] + r * dilation[0],
                      x = k * stride[1] - padding[1] + q * dilation[1];
            if (y < 0 || x < 0 || y >= image[1] || x >= image[2]) continue;
            for (int c = 0; c < filter[1]; ++c)
              for (int o = 0; o < filter[0]; ++o) {
                const int channel = o / (filter[0] / groups) * filter[1] + c;
                visit(((n * image[1] + y) * image[2] + x) * image[3] + channel,
                      ((o * filter[1] + c) * filter[2] + r) * filter[3] + q,
                      ((n * result[1] + i) * result[2] + k) * result[3] + o);
              }
          }
}

/// Returns the coordinates of element number `index` of a row-major tensor {s}.
inline void coordinates(const shape& s, std::int64_t index, int* at) {
  for (int axis = s.rank; axis-- > 0; index /= s.extent[axis]) at[axis] = static_cast<int>(index % s.extent[axis]);
}

/// Returns the element of {to} to which element number `index` of {from} is added. `to` is reduced(from, axes, true).
inline std::size_t reduced_index(const shape& from, const shape& to, std::int64_t index) {
  int at[max_rank];
  coordinates(from, index, at);
  std::int64_t o = 0;
  for (int axis = 0; axis < from.rank; ++axis)
    if (to.extent[axis] == from.extent[axis]) o = o * to.extent[axis] + at[axis];
  return static_cast<std::size_t>(o);
}

/// Computes the sums of `in` {from} over the axes. `out` is {reduced(from, axes)}.
template <class Real>
void reduce_sum(const Real* in, Real* out, const shape& from, cairn::detail::axis_set axes) {
  const shape to = reduced(from, axes, true);
  std::vector<double> sums(static_cast<std::size_t>(to.count()));
  for (std::int64_t i = 0; i < from.count(); ++i) {
    sums[reduced_index(from, to, i)] += in[i];
  }
  std::transform(sums.begin(), sums.end(), out, [](double x) { return static_cast<Real>(x); });
}

/// Computes the largest or the smallest numbers of `in` {from} over the axes, or NaN where a number is NaN. `out` is
/// {reduced(from, axes)}.
template <class Real>
void extremum(const Real* in, Real* out, const shape& from, cairn::detail::axis_set axes, bool largest) {
  const shape to = reduced(from, axes, true);
  std::vector<bool> seen(static_cast<std::size_t>(to.count()));
  for (std::int64_t i = 0; i < from.count(); ++i) {
    const std::size_t o = reduced_index(from, to, i);
    if (!seen[o] || std::isnan(in[i]) || (largest ? in[i] > out[o] : in[i] < out[o])) out[o] = in[i];
    seen[o] = true;
  }
}

/// Computes the first positions of the extrema of `in` {from} along an axis.
template <class Real>
void position(const Real* in, std::int32_t* out, const shape& from, int axis, bool largest) {
  std::int64_t inner = 1;
  for (int k = axis + 1; k < from.rank; ++k) inner *= from.extent[k];
  for (std::int64_t o = 0; o < from.count() / from.extent[axis]; ++o) {
    const Real* const line = in + o / inner * from.extent[axis] * inner + o % inner;
    Real most = *line;
    out[o] = 0;
    for (int k = 1; k < from.extent[axis] && !std::isnan(most); ++k) {
      const Real x = line[k * inner];
      if (!std::isnan(x) && (largest ? x <= most : x >= most)) continue;
      most = x;
      out[o] = k;
    }
  }
}

/// Computes out {outer, count, inner}, which is the table {outer, extent, inner} at `count` positions along its second
/// axis.
template <class Real>
void gather(const Real* table, const std::int32_t* at, Real* out, const shape& from, int count) {
  for (int i = 0; i < from[0]; ++i)
    for (int j = 0; j < count; ++j)
      for (int k = 0; k < from[2]; ++k) out[(i * count + j) * from[2] + k] = table[(i * from[1] + at[j]) * from[2] + k];
}

/// Copies the table {outer, extent, inner} to `out`. From position `at` on along the second axis, `rows`
/// {outer, count, inner} take the place of its numbers.
template <class Real>
void placed(const Real* table, int at, const Real* rows, Real* out, const shape& from, int count) {
  for (int i = 0; i < from[0]; ++i)
    for (int j = 0; j < from[1]; ++j)
      for (int k = 0; k < from[2]; ++k)
        out[(i * from[1] + j) * from[2] + k] = at <= j && j < at + count ? rows[(i * count + j - at) * from[2] + k]
                                                                         : table[(i * from[1] + j) * from[2] + k];
}

/// Computes out {outer, extent, inner}: the sums of `in` {outer, count, inner} at their positions along the second axis.
template <class Real>
void scatter_add(const Real* in, const std::int32_t* at, Real* out, const shape& to, int count) {
  std::vector<double> sums(static_cast<std::size_t>(to.count()));
  for (int i = 0; i < to[0]; ++i)
    for (int j = 0; j < count; ++j)
      for (int k = 0; k < to[2]; ++k)
        sums[static_cast<std::size_t>((i * to[1] + at[j]) * to[2] + k)] += in[(i * count + j) * to[2] + k];
  std::transform(sums.begin(), sums.end(), out, [](double x) { return static_cast<Real>(x); });
}

/// Computes of each row of x {rows, columns}: half the mean, scale = 2 / sqrt(variance + eps), and
/// root = 2 / sqrt(mean square + eps).
template <class Real>
void row_moments(const Real* x, int rows, int columns, double eps, Real* mean, Real* scale, Real* root) {
  for (int i = 0; i < rows; ++i, x += columns) {
    long double sum = 0, square = 0, off = 0;  // doubles would have errors as large as those that they judge
    for (int j = 0; j < columns; ++j) sum += x[j] / static_cast<long double>(columns);
    for (int j = 0; j < columns; ++j) off += (x[j] - sum) * (x[j] - sum) / columns;
    for (int j = 0; j < columns; ++j) square += static_cast<long double>(x[j]) * x[j] / columns;
    mean[i] = static_cast<Real>(sum / 2);
    scale[i] = static_cast<Real>(2 / std::sqrt(off + eps));
    root[i] = static_cast<Real>(2 / std::sqrt(square + eps));
  }
}

/// Computes from g {rows, columns}, the gradient of (x - mean) scale weight + bias: the mean of each row of g weight, the
/// mean of each row of g weight times the normalized x, and the gradients of weight and bias {columns}. Half the mean and
/// twice the scale are {rows}.
template <class Real>
void norm_sums(const Real* g, const Real* x, const Real* half_mean, const Real* twice_scale, const Real* weight,
               int rows, int columns, Real* level, Real* tilt, Real* of_weight, Real* of_bias) {
  std::vector<double> sums(2 * static_cast<std::size_t>(columns));
  for (int i = 0; i < rows; ++i) {
    double row = 0, tilted = 0;
    for (int j = 0; j < columns; ++j) {
      const double slope = g[i * columns + j];
      const double normal = (double{x[i * columns + j]} / 2 - double{half_mean[i]}) * twice_scale[i];
      row += slope * weight[j];
      tilted += slope * weight[j] * normal;
      sums[static_cast<std::size_t>(j)] += slope * normal;
      sums[static_cast<std::size_t>(columns + j)] += slope;
    }
    level[i] = static_cast<Real>(row / columns);
    tilt[i] = static_cast<Real>(tilted / columns);
  }
  for (int j = 0; j < columns; ++j) {
    of_weight[j] = static_cast<Real>(sums[static_cast<std::size_t>(j)]);
    of_bias[j] = static_cast<Real>(sums[static_cast<std::size_t>(columns + j)]);
  }
}

/// Copies x {rows, heads, features} to `out`, and rotates features j and features / 2 + j of row i by the angle
/// at[i % period] / 10000^(2 j / features).
template <class Real>
void rotary(const Real* x, const std::int32_t* at, Real* out, int rows, int period, int heads, int features) {
  const int half = features / 2;
  for (int i = 0; i < rows; ++i)
    for (int head = 0; head < heads; ++head, x += features, out += features)
      for (int j = 0; j < half; ++j) {
        const double angle = at[i % period] * std::pow(10000.0, -2.0 * j / features);
        out[j] = static_cast<Real>(x[j] * std::cos(angle) - x[half + j] * std::sin(angle));
        out[half + j] = static_cast<Real>(x[half + j] * std::cos(angle) + x[j] * std::sin(angle));
      }
}

/// Calls visit(w, i, position) for each number of each window over images {x}, row by row: element i of the images
/// stands at `position` of window w. There are `result` windows.
struct windows {
  shape x, result;
  nn::extents extent, stride, padding, dilation;

  template <class Visit>
  void operator()(Visit visit) const {
    std::size_t window = 0;
    for (int image = 0; image < x[0]; ++image)
      for (int row = 0; row < result[1]; ++row)
        for (int column = 0; column < result[2]; ++column)
          for (int channel = 0; channel < x[3]; ++channel, ++window)
            for (int position = 0; position < extent[0] * extent[1]; ++position) {
              const int i = row * stride[0] - padding[0] + position / extent[1] * dilation[0];
              const int j = column * stride[1] - padding[1] + position % extent[1] * dilation[1];
              if (i < 0 || i >= x[1] || j < 0 || j >= x[2]) continue;
              visit(window, static_cast<std::size_t>(((image * x[1] + i) * x[2] + j) * x[3] + channel), position);
            }
  }
};

/// Computes the largest number of each window, or NaN where a number is NaN, and its position: of the first largest
/// number, or of the last NaN.
template <class Real, class At>
void max_pool(const windows& each, const Real* in, std::vector<Real>& out, std::vector<At>& at) {
  std::vector<bool> seen(out.size());
  each([&](std::size_t window, std::size_t place, int position) {
    if (seen[window] && !std::isnan(in[place]) && !(in[place] > out[window])) return;
    seen[window] = true;
    out[window] = in[place];
    at[window] = static_cast<At>(position);
  });
}

/// Computes log_softmax of `in` {from} along an axis. softmax is its exp.
template <class Real>
void log_softmax(const Real* in, Real* out, const shape& from, int axis) {
  std::int64_t stride = 1;
  for (int k = axis + 1; k < from.rank; ++k) stride *= from.extent[k];
  const int n = from.extent[axis];
  for (std::int64_t i = 0; i < from.count(); ++i) {
    if (i / stride % n != 0) continue;  // a line along the axis begins at i
    double most = in[i], sum = 0;
    for (int k = 1; k < n; ++k) most = std::max<double>(most, in[i + k * stride]);
    for (int k = 0; k < n; ++k) sum += std::exp(in[i + k * stride] - most);
    for (int k = 0; k < n; ++k) out[i + k * stride] = static_cast<Real>(in[i + k * stride] - most - std::log(sum));
  }
}
template <class Real>
void softmax(const Real* in, Real* out, const shape& from, int axis) {
  std::vector<double> log_of(in, in + from.count());
  log_softmax(log_of.data(), log_of.data(), from, axis);
  std::transform(log_of.begin(), log_of.end(), out, [](double x) { return static_cast<Real>(std::exp(x)); });
}

/// Returns the mean over rows of -log_softmax(row)[label], for logits {n, c}.
template <class Real>
Real cross_entropy(const Real* logits, const std::int32_t* labels, int n, int c) {
  std::vector<double> log_of(logits, logits + n * c);
  log_softmax(log_of.data(), log_of.data(), shape{n, c}, 1);
  double loss = 0;
  for (int row = 0; row < n; ++row) loss -= log_of[static_cast<std::size_t>(row * c + labels[row])] / n;
  return static_cast<Real>(loss);
}

/// Computes out {n, c} = softmax(row) - onehot(label).
template <class Real>
void softmax_error(const Real* logits, const std::int32_t* labels, Real* out, int n, int c) {
  softmax(logits, out, shape{n, c}, 1);
  for (int row = 0; row < n; ++row) out[row * c + labels[row]] -= 1;
}

/// Returns the fraction of rows whose first largest logit is the logit of the label.
template <class Real>
Real accuracy(const Real* logits, const std::int32_t* labels, int n, int c) {
  int right = 0;
  for (int row = 0; row < n; ++row) {
    const Real* first = logits + row * c;
    right += std::max_element(first, first + c) - first == labels[row];
  }
  return static_cast<Real>(right) / static_cast<Real>(n);
}

/// Computes out {n} = x / (1 - p), or 0 where the element's word, as a fraction of 2^32, is below p.
template <class Real>
void dropout(const Real* in, const random_stream& words, double p, Real* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t word = words(static_cast<std::uint32_t>(i / 4))[static_cast<std::size_t>(i % 4)];
    out[i] = word < static_cast<std::uint32_t>(p * 0x1p32) ? 0 : in[i] * static_cast<Real>(1 / (1 - p));
  }
}

/// Attention of queries {n, t, h, d}, keys {n, s, heads, d} and values {n, s, heads, e}, and its gradients, in double.
/// added(n, h, t, s) is added to a score; it is minus infinity if the key is hidden. A weight is multiplied by
/// kept(n, h, t, s). Beside each sum stands the sum of absolute values, which bounds its error.
struct attention {
  int n, t, s, h, heads, d, e;
  std::vector<double> y{}, largest{}, log_total{}, delta{}, of_q{}, of_k{}, of_v{};
  std::vector<double> size_of_y{}, size_of_q{}, size_of_k{}, size_of_v{};
  double size_of_scores = 0;  ///< the largest of them

  template <class Real, class Added, class Kept>
  void run(const Real* q, const Real* k, const Real* v, const Real* g, Added added, Kept kept) {
    const auto zeros = [](int count) { return std::vector<double>(static_cast<std::size_t>(count)); };
    const int queries = n * t * h, keys = n * s * heads;
    largest = log_total = delta = zeros(queries);
    y = size_of_y = zeros(queries * e);
    of_q = size_of_q = zeros(queries * d);
    of_k = size_of_k = zeros(keys * d);
    of_v = size_of_v = zeros(keys * e);
    std::vector<double> weight(static_cast<std::size_t>(s));
    for (int row = 0; row < queries; ++row) {
      const int image = row / (t * h), query = row / h % t, head = row % h;
      const auto key_of = [&](int i) { return (image * s + i) * heads + head / (h / heads); };
      const double scale = 1 / std::sqrt(double{1} * d);
      double most = -std::numeric_limits<double>::infinity(), total = 0;
      for (int i = 0; i < s; ++i) {
        double score = 0, size = 0;
        for (int j = 0; j < d; ++j) score += double{q[row * d + j]} * k[key_of(i) * d + j] * scale;
        for (int j = 0; j < d; ++j) size += std::abs(double{q[row * d + j]} * k[key_of(i) * d + j]) * scale;
        size_of_scores = std::max(size_of_scores, size);
        weight[static_cast<std::size_t>(i)] = score += added(image, head, query, i);
        most = std::max(most, score);
      }
      for (double& w : weight) total += w = w == -std::numeric_limits<double>::infinity() ? 0 : std::exp(w - most);
      largest[static_cast<std::size_t>(row)] = total == 0 ? 0 : most;
      log_total[static_cast<std::size_t>(row)] = total == 0 ? 0 : std::log(total);
      for (double& w : weight) w /= total == 0 ? 1 : total;
      const auto each = [&](int extent, auto visit) {
        for (int i = 0; i < s; ++i)
          for (int j = 0; j < extent; ++j)
            visit(static_cast<std::size_t>(i), static_cast<std::size_t>(row * extent + j),
                  static_cast<std::size_t>(key_of(i) * extent + j), kept(image, head, query, i));
      };
      each(e, [&](std::size_t i, std::size_t own, std::size_t other, double factor) {
        y[own] += weight[i] * factor * v[other];
        size_of_y[own] += std::abs(weight[i] * factor * v[other]);
        of_v[other] += weight[i] * factor * g[own];
        size_of_v[other] += std::abs(weight[i] * factor * g[own]);
      });
      for (int j = 0; j < e; ++j)
        delta[static_cast<std::size_t>(row)] += y[static_cast<std::size_t>(row * e + j)] * g[row * e + j];
      std::vector<double> slope(weight.size()), size(weight.size());
      each(e, [&](std::size_t i, std::size_t own, std::size_t other, double factor) {
        slope[i] += g[own] * v[other] * factor;
        size[i] += std::abs(g[own] * v[other] * factor);
      });
      each(d, [&](std::size_t i, std::size_t own, std::size_t other, double) {
        const double off = delta[static_cast<std::size_t>(row)], w = weight[i] * scale;
        of_q[own] += w * (slope[i] - off) * k[other];
        size_of_q[own] += w * (size[i] + std::abs(off)) * std::abs(k[other]);
        of_k[other] += w * (slope[i] - off) * q[own];
        size_of_k[other] += w * (size[i] + std::abs(off)) * std::abs(q[own]);
      });
    }
  }
};

/// Transposes `in` {from}: axis k of `out` is axis order[k] of `in`.
template <class Real>
void transpose(const Real* in, Real* out, const shape& from, const int* order) {
  shape to = from;
  for (int k = 0; k < from.rank; ++k) to.extent[k] = from.extent[order[k]];
  for (std::int64_t o = 0; o < to.count(); ++o) {
    int at[max_rank], source[max_rank];
    coordinates(to, o, at);
    for (int k = 0; k < from.rank; ++k) source[order[k]] = at[k];
    std::int64_t i = 0;
    for (int k = 0; k < from.rank; ++k) i = i * from.extent[k] + source[k];
    out[o] = in[i];
  }
}

/// Copies `count` indices of an axis: out[i, to_begin + j, k] = in[i, from_begin + j, k]. The shapes differ only along
/// this axis.
template <class Real>
void copy_part(const Real* in, const shape& from, int from_begin, Real* out, const shape& to, int to_begin, int axis,
               int count) {
  std::int64_t inner = 1;
  for (int k = axis + 1; k < from.rank; ++k) inner *= from.extent[k];
  const std::int64_t outer = from.count() / from.extent[axis] / inner;
  for (std::int64_t i = 0; i < outer; ++i)
    for (int j = 0; j < count; ++j)
      for (std::int64_t k = 0; k < inner; ++k)
        out[(i * to.extent[axis] + to_begin + j) * inner + k] =
            in[(i * from.extent[axis] + from_begin + j) * inner + k];
}

}  // namespace reference
