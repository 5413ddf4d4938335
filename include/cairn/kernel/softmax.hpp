// Softmax along an axis.
#pragma once

#include "cairn/kernel/functions.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/op/softmax.hpp"

#include <limits>

namespace cairn::kernels {

/// Both subtract the largest number first, so that no exp overflows:
/// softmax(x) = exp(x - max) / sum exp(x - max), log_softmax(x) = x - max - log sum exp(x - max).
enum class normalized { softmax, log_softmax };

/// What a number counts for as work: its exp as 200, four other operations as ten each, twice moved as forty.
inline constexpr std::int64_t normalizing = 200 + 4 * 10 + 2 * 40;

/// Lanes past the end of a row hold minus infinity: never the largest, and nothing to a sum of exps.
template <class Real>
inline constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

/// From row[i] on of a row of n numbers.
template <class In>
[[gnu::always_inline]] inline lanes<sum_of<In>> load_logits(const In* row, std::int64_t i, std::int64_t n) {
  return load_row_as<sum_of<In>>(row, i, n, minus_infinity<sum_of<In>>);
}

template <class In>
sum_of<In> row_largest(const In* row, int n) {
  auto most = load_logits(row, 0, n);
  for (int i = decltype(most)::width; i < n; i += decltype(most)::width) most = max(load_logits(row, i, n), most);
  return largest(most);
}

/// The sum, in one register, of what at(i) gives for the registers of a row.
template <class V>
[[gnu::always_inline]] inline V sum_of_row(int n, auto at) {
  return sum_in_sections<V>((n + V::width - 1) / V::width,
                            [=](std::int64_t k) { return at(static_cast<int>(k) * V::width); });
}

/// sum exp(x - shift) over a row.
template <class In>
sum_of<In> row_sum_exp(const In* row, int n, sum_of<In> shift) {
  using vec = lanes<sum_of<In>>;
  return sum(sum_of_row<vec>(n, [=](int i) { return exp(load_logits(row, i, n) - vec::fill(shift)); }));
}

/// exp(x - max) of a row of n numbers, a register at a time. They are kept where the results go, unless these are
/// rounded: then they are computed a second time. in == out is allowed.
template <class In, class Out>
class exponentials_of_row {
  using vec = lanes<sum_of<In>>;
  static constexpr bool stores_exponentials = !std::is_same_v<Out, bf16>;
  const In* in_;
  Out* out_;
  int n_;
  vec most_;
  vec computed(int i) const { return exp(load_logits(in_, i, n_) - most_); }

 public:
  exponentials_of_row(const In* in, Out* out, int n)
      : in_(in), out_(out), n_(n), most_(vec::fill(row_largest(in, n))) {}
  /// Of the numbers from i on.
  vec at(int i) const {
    const vec e = computed(i);
    if constexpr (stores_exponentials) store_row(e, out_, i, n_);
    return e;
  }
  /// Writes all of them divided by `total`.
  void divide(sum_of<In> total) const {
    const vec scale = vec::fill(1 / total);
    for (int i = 0; i < n_; i += vec::width) {
      if constexpr (stores_exponentials) store_row(load_row(out_, i, n_) * scale, out_, i, n_);
      else store_row(computed(i) * scale, out_, i, n_);
    }
  }
};

/// One row of n numbers; in == out is allowed.
template <normalized Form, class In, class Out>
void normalize_row(const In* in, Out* out, int n) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  if constexpr (Form == normalized::log_softmax) {
    const real most = row_largest(in, n);
    const vec shift = vec::fill(most), log_total = vec::fill(std::log(row_sum_exp(in, n, most)));
    for (int i = 0; i < n; i += vec::width) store_row(load_row_as<real>(in, i, n) - shift - log_total, out, i, n);
  } else {
    const exponentials_of_row<In, Out> e(in, out, n);
    e.divide(sum(sum_of_row<vec>(n, [=](int i) { return e.at(i); })));
  }
}

/// Some columns of {n, stride} along the first axis, a register of columns at a time.
template <normalized Form, class In, class Out>
void normalize_columns(const In* in, Out* out, int n, std::int64_t stride, costs::range columns) {
  using vec = lanes<sum_of<In>>;
  constexpr bool stores = Form == normalized::softmax && !std::is_same_v<Out, bf16>;
  for (std::int64_t j = columns.begin; j < columns.end; j += vec::width) {
    const auto load = [&](const auto* from, int i) { return load_row_as<sum_of<In>>(from + i * stride, j, stride); };
    const auto store = [&](vec x, int i) { store_row(x, out + i * stride, j, stride); };
    vec most = load(in, 0);
    for (int i = 1; i < n; ++i) most = max(load(in, i), most);
    const vec total = sum_in_sections<vec>(n, [&](std::int64_t k) {
      const int i = static_cast<int>(k);
      const vec e = exp(load(in, i) - most);
      if constexpr (stores) store(e, i);
      return e;
    });
    if constexpr (Form == normalized::softmax) {
      const vec scale = vec::fill(1) / total;
      for (int i = 0; i < n; ++i) store((stores ? load(out, i) : exp(load(in, i) - most)) * scale, i);
    } else {
      const vec log_total = log(total);
      for (int i = 0; i < n; ++i) store(load(in, i) - most - log_total, i);
    }
  }
}

/// A shape around one of its axes: {outer, extent, inner}.
struct around_axis {
  std::int64_t outer = 1;
  int extent = 1;
  std::int64_t inner = 1;
};
/// Negative axes count from the last.
constexpr around_axis around(const shape& s, int axis) {
  const int at = axis < 0 ? s.rank + axis : axis;
  around_axis a;
  for (int k = 0; k < at; ++k) a.outer *= s.extent[k];
  a.extent = s.extent[at];
  for (int k = at + 1; k < s.rank; ++k) a.inner *= s.extent[k];
  return a;
}

/// Calls visit(at, columns) for all that lies around an axis: from number `at` on, for those columns along the axis, or
/// for a row, where no other axis follows. A number of type In counts as `work`. Threads share what lies outside of the
/// axis, or else the columns.
template <class In, class Visit>
void visit_axis(const around_axis& a, std::int64_t work, const launch& how, Visit visit) {
  const std::int64_t step = a.extent * a.inner;
  const bool many = a.outer > 1;
  shares{work * a.outer * step, many ? a.outer : a.inner, many ? 1 : lanes<sum_of<In>>::width}(
      how.threads, [=, &a, &how](costs::range own) {
        if (!many && a.inner > 1) return visit(std::int64_t{0}, own);
        how.in_rows(own, step * static_cast<int>(sizeof(In)), [=, &a](costs::range some) {
          for (std::int64_t at = some.begin * step; at < some.end * step; at += step)
            visit(at, costs::range{0, a.inner});
        });
      });
}

/// in == out is allowed.
template <normalized Form, class In, class Out>
[[gnu::noinline]] void normalize(const around_axis& a, const In* in, Out* out, const launch& how = {}) {
  visit_axis<In>(a, normalizing, how, [=, &a](std::int64_t at, costs::range columns) {
    if (a.inner == 1) normalize_row<Form>(in + at, out + at, a.extent);
    else normalize_columns<Form>(in + at, out + at, a.extent, a.inner, columns);
  });
}

/// A share above which its own gradient is minus the sum of the others. Two shares cannot be so large.
template <class Real>
inline constexpr Real certain_share = Real{0.75};

/// The gradient of a normalization from its result y and the gradient g of that, where a step along the axis goes from
/// register to register of a row of `extent` numbers, or of {extent, inner} from row to row. out == g is allowed.
template <normalized Form, bool Row, class G, class Y, class Out>
struct slope_along {
  static constexpr bool of_log = Form == normalized::log_softmax;
  using real = sum_of<Out>;
  using vec = lanes<real>;
  const G* g;
  const Y* y;
  Out* out;
  std::int64_t extent, inner;

  std::int64_t count() const { return Row ? (extent + vec::width - 1) / vec::width : extent; }
  /// Register k of what lies along the axis, or along the columns from j on, with `rest` past the end.
  [[gnu::always_inline]] vec load(const auto* from, std::int64_t k, std::int64_t j, real rest = 0) const {
    if constexpr (Row) return load_row_as<real>(from, k * vec::width, extent, rest);
    else return load_row_as<real>(from + k * inner, j, inner, rest);
  }
  [[gnu::always_inline]] void store(vec x, std::int64_t k, std::int64_t j) const {
    if constexpr (Row) store_row(x, out, k * vec::width, extent);
    else store_row(x, out + k * inner, j, inner);
  }
  [[gnu::always_inline]] vec share(std::int64_t k, std::int64_t j) const {
    if constexpr (of_log) return exp(load(y, k, j, minus_infinity<real>));
    else return load(y, k, j);
  }
  /// The sum along the axis of what at(k) gives for register k.
  [[gnu::always_inline]] vec sum_along(auto at) const {
    const vec all = sum_in_sections<vec>(count(), at);
    if constexpr (Row) return vec::fill(sum(all));
    else return all;
  }
  /// In the columns from j on; 0 for a row.
  void run(std::int64_t j) const {
    const vec certain = vec::fill(certain_share<real>);
    const vec level = sum_along([this, j](std::int64_t k) {
      if constexpr (of_log) return load(g, k, j);
      else return load(g, k, j) * load(y, k, j);
    });
    vec most{};
    const vec others = sum_along([=, this, &most](std::int64_t k) {
      const vec of_one = share(k, j), of_y = load(g, k, j);
      const vec slope = of_log ? fused(-of_one, level, of_y) : (of_y - level) * of_one;
      store(slope, k, j);
      most = max(of_one, most);
      return select(greater(of_one, certain), vec{}, slope);
    });
    if (!(largest(most) > certain_share<real>)) return;
    for (std::int64_t k = 0; k < count(); ++k)
      store(select(greater(share(k, j), certain), -others, load(out, k, j)), k, j);
  }
};

template <normalized Form, class G, class Y, class Out>
[[gnu::noinline]] void normalized_slope(const around_axis& a, const G* g, const Y* y, Out* out,
                                        const launch& how = {}) {
  constexpr std::int64_t work = Form == normalized::log_softmax ? normalizing : normalizing - 200;
  visit_axis<G>(a, work, how, [=, &a](std::int64_t at, costs::range columns) {
    if (a.inner == 1) return slope_along<Form, true, G, Y, Out>{g + at, y + at, out + at, a.extent, 1}.run(0);
    const slope_along<Form, false, G, Y, Out> along{g + at, y + at, out + at, a.extent, a.inner};
    for (std::int64_t j = columns.begin; j < columns.end; j += lanes<sum_of<Out>>::width) along.run(j);
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, class Numbers, class X>
void compute(softmax_op<Axis>, signature<Numbers, X>, void* const* p, const kernels::launch& how) {
  kernels::normalize<kernels::normalized::softmax>(kernels::around(X::shape, Axis),
                                                   static_cast<const kernels::taken_of<Numbers, X>*>(p[1]),
                                                   static_cast<kernels::made_of<Numbers>*>(p[0]), how);
}
template <int Axis, class Numbers, class X>
void compute(log_softmax_op<Axis>, signature<Numbers, X>, void* const* p, const kernels::launch& how) {
  kernels::normalize<kernels::normalized::log_softmax>(kernels::around(X::shape, Axis),
                                                       static_cast<const kernels::taken_of<Numbers, X>*>(p[1]),
                                                       static_cast<kernels::made_of<Numbers>*>(p[0]), how);
}

template <int Axis, bool OfLog, class Numbers, class G, class Y>
void compute(softmax_slope_op<Axis, OfLog>, signature<Numbers, G, Y>, void* const* p, const kernels::launch& how) {
  constexpr auto form = OfLog ? kernels::normalized::log_softmax : kernels::normalized::softmax;
  kernels::normalized_slope<form>(
      kernels::around(G::shape, Axis), static_cast<const kernels::taken_of<Numbers, G>*>(p[1]),
      static_cast<const kernels::taken_of<Numbers, Y>*>(p[2]), static_cast<kernels::made_of<Numbers>*>(p[0]), how);
}

}  // namespace cairn::lang
