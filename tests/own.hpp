// Operations that are not part of the library, one of each kind. docs/add-an-operation.md repeats the code between the marks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cairn/cairn.hpp>
#include <concepts>
#include <cstdint>

namespace own {

using namespace cairn;

// [elementwise]
/// log(1 + exp(x)), an elementwise operation.
struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  static constexpr auto vjp(auto g, auto /* result */, auto x) { return gradients(g * sigmoid(x)); }
};
template <an_expression X>
constexpr made<log1pexp_op, X> log1pexp(X) {
  return {};
}
/// V is a SIMD register or a single number. exp cannot overflow, because its argument is never positive.
template <class V>
V lanewise(log1pexp_op, V x) {
  using kernels::abs, kernels::exp, kernels::log, kernels::max;
  return max(x, kernels::all<V>(0)) + log(kernels::all<V>(1) + exp(-abs(x)));
}
// [elementwise]

// [several results]
/// The sine and the cosine of x, an elementwise operation with two results.
struct sine_cosine_op : elementwise_op {
  static constexpr fixed_string name = "sine_cosine";
  static constexpr std::array<shape, 2> result(const shape& x) { return {x, x}; }
  static constexpr auto vjp(auto of_sine, auto of_cosine, auto sine, auto cosine, auto /* x */) {
    return gradients(of_sine * cosine - of_cosine * sine);
  }
};
template <an_expression X>
constexpr made<sine_cosine_op, X> sine_cosine(X) {
  return {};
}
template <class V>
std::array<V, 2> lanewise(sine_cosine_op, V x) {
  using kernels::cos, kernels::sin;
  return {sin(x), cos(x)};
}
// [several results]

// [kernel]
/// The running sums of each row of {..., columns}: y[j] = x[0] + ... + x[j]. With FromEnd they begin at the end of the
/// row: y[j] = x[j] + ... + x[columns - 1].
template <bool FromEnd>
struct running_sum_op : op {
  static constexpr fixed_string name = "running_sum";
  using rule = misuse::axes_exist;
  static constexpr making makes(int /*result*/, int /*bytes*/, const shape&) { return {.overwrites = 0}; }
  static constexpr shape result(const shape& x) { return x.rank > 0 ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<running_sum_op<!FromEnd>>(g)); }
};
template <an_expression X>
constexpr made<running_sum_op<false>, X> running_sum(X) {
  return {};
}
/// The operands are the result and then the argument. Both can be the same memory, because the operation says
/// `overwrites`.
template <bool FromEnd, class Real, class X>
void compute(running_sum_op<FromEnd>, signature<Real, X>, void* const* operands) {
  constexpr int columns = X::shape[-1];
  const Real* in = static_cast<const Real*>(operands[1]);
  Real* out = static_cast<Real*>(operands[0]);
  for (std::int64_t row = 0; row < X::shape.count(); row += columns) {
    Real sum = 0;
    for (int k = 0; k < columns; ++k) {
      const std::int64_t j = row + (FromEnd ? columns - 1 - k : k);
      out[j] = sum += in[j];
    }
  }
}
// [kernel]

// [results]
/// Returns the shape of a result with one number for each row.
constexpr shape rows_of(const shape& x, bool keep = false) {
  return x.rank > 0 ? reduced(x, 1U << (x.rank - 1), keep) : no_shape;
}
/// Places x {...} at the positions `at` {...} of rows of zeros. The result is {..., Columns}.
template <int Columns>
struct placed_op;
/// The largest element of each row of {..., columns}, and its position. If several elements are largest, the position
/// is that of the first.
struct largest_op : op {
  static constexpr fixed_string name = "largest";
  using rule = misuse::axes_exist;
  static constexpr std::array<tensor_type, 2> result(const tensor_type& x) {
    return {tensor_type(rows_of(x), x.element), tensor_type(rows_of(x), index_below(x.rank > 0 ? x[-1] : 0))};
  }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto /* largest */, auto at, auto x) {
    return gradients(make<placed_op<decltype(x)::shape[-1]>>(g, at));
  }
};
template <an_expression X>
constexpr made<largest_op, X> largest(X) {
  return {};
}
template <class Real, class X>
void compute(largest_op, signature<Real, X>, void* const* operands) {
  Real* const most = static_cast<Real*>(operands[0]);
  std::int32_t* const at = static_cast<std::int32_t*>(operands[1]);
  const Real* row = static_cast<const Real*>(operands[2]);
  constexpr int columns = X::shape[-1];
  for (std::int64_t i = 0; i < X::shape.count() / columns; ++i, row += columns) {
    const Real* const found = std::max_element(row, row + columns);
    if (most != nullptr) most[i] = *found;
    if (at != nullptr) at[i] = static_cast<std::int32_t>(found - row);
  }
}
// [results]

// [misuse]
struct one_position_per_row {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>, "own [shape-mismatch]: {..., columns} takes one position for each row");
    }
  };
};
// [misuse]

// [indices]
/// Picks one element of each row of x {..., columns}, at the positions `at` {...}.
struct picked_op : op {
  static constexpr fixed_string name = "picked";
  using rule = one_position_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape& x, const shape&) { return i == 1 ? x[-1] : 0; }
  static constexpr shape result(const shape& x, const shape& at) { return rows_of(x) == at ? at : no_shape; }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x, auto at) {
    return gradients(make<placed_op<decltype(x)::shape[-1]>>(g, at), no_gradient{});
  }
};
template <an_expression X, an_expression At>
constexpr made<picked_op, X, At> picked(X, At) {
  return {};
}
template <class Real, class X, class At>
void compute(picked_op, signature<Real, X, At>, void* const* operands) {
  const Real* x = static_cast<const Real*>(operands[1]);
  const auto* at = static_cast<const stored_as<At::element.type, Real>*>(operands[2]);
  for (std::int64_t row = 0; row < At::shape.count(); ++row)
    static_cast<Real*>(operands[0])[row] = x[row * X::shape[-1] + at[row]];
}
// [indices]

template <int Columns>
struct placed_op : op {
  static constexpr fixed_string name = "placed";
  using rule = one_position_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape&, const shape&) { return i == 1 ? Columns : 0; }
  static constexpr shape result(shape x, const shape& at) {
    if (x != at || x.rank == max_rank) return no_shape;
    x.extent[x.rank++] = Columns;
    return x;
  }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto, auto at) { return gradients(make<picked_op>(g, at), no_gradient{}); }
};
template <int Columns, class Real, class X, class At>
void compute(placed_op<Columns>, signature<Real, X, At>, void* const* operands) {
  Real* const to = static_cast<Real*>(operands[0]);
  const Real* x = static_cast<const Real*>(operands[1]);
  const auto* at = static_cast<const stored_as<At::element.type, Real>*>(operands[2]);
  std::fill_n(to, X::shape.count() * Columns, Real{0});
  for (std::int64_t row = 0; row < X::shape.count(); ++row) to[row * Columns + at[row]] = x[row];
}

// [tiles]
/// Subtracts the mean from each row of {..., columns} and divides the row by its standard deviation. The second result
/// is 1 / deviation, {..., 1}.
struct normalized_op : op {
  static constexpr fixed_string name = "normalized";
  using rule = misuse::axes_exist;
  static constexpr std::array<shape, 2> result(const shape& x) { return {x.rank > 0 ? x : no_shape, rows_of(x, true)}; }
  static constexpr std::int64_t flops(const shape& x) { return 6 * x.count(); }
  static constexpr reading reads(int /*argument*/, const shape&) { return {.rows_from_loop = true}; }
  static constexpr making makes(int /*result*/, int /*bytes*/, const shape&) { return {.tiles = tiling::complete}; }
  /// The number of threads that are worthwhile, and for each of them a row, rounded up to whole registers.
  static constexpr workspace scratch(int /* bytes */, const shape& x) {
    return {.each = (x[-1] + 15) / 16 * 16, .parts = parts_of(10 * flops(x), x.count() / x[-1])};
  }
  /// The first gradient rule is used if only gradient rules read the second result. The other one is used if another
  /// operation reads it.
  static constexpr auto vjp(auto g, auto y, auto scale, auto) {
    return gradients(scale * (g - mean<-1>(g, keepdim) - y * mean<-1>(g * y, keepdim)));
  }
  static constexpr auto vjp(auto g, auto of_scale, auto y, auto scale, auto x) {
    const auto share = constant<1.0 / decltype(x)::shape[-1]>;
    return gradients(scale * (g - mean<-1>(g, keepdim) - y * (mean<-1>(g * y, keepdim) + of_scale * scale * share)));
  }
};
// [tiles]
template <an_expression X>
constexpr made<normalized_op, X> normalized(X) {
  return {};
}
template <class Real, class X>
void compute(normalized_op op, signature<Real, X>, void* const* operands, const kernels::launch& how) {
  constexpr int columns = X::shape[-1];
  constexpr workspace room = op.scratch(sizeof(Real), X::shape);
  Real *const y = static_cast<Real*>(operands[0]), *const scale = static_cast<Real*>(operands[1]);
  const Real* const x = static_cast<const Real*>(operands[2]);
  const int parts = std::min(room.parts, how.threads);
  kernels::in_parts(parts, [=, &how](int part) {
    Real* const row = static_cast<Real*>(operands[3]) + part * room.each;
    const costs::range own = costs::share(X::shape.count() / columns, 1, part, parts);
    how.in_rows(own, columns * sizeof(Real), [=, &how](costs::range some) {
      for (std::int64_t i = some.begin; i < some.end; ++i) {
        Real sum = 0, squares = 0;
        for (int j = 0; j < columns; ++j) sum += x[i * columns + j];
        for (int j = 0; j < columns; ++j) {
          row[j] = x[i * columns + j] - sum / columns;
          squares += row[j] * row[j];
        }
        const Real factor = 1 / std::sqrt(squares / columns + Real(1e-5));
        for (int j = 0; j < columns; ++j) row[j] *= factor;
        if (scale != nullptr) scale[i] = factor;
        if (how.reader != nullptr) how.reader->run(row, columns, static_cast<int>(i), 0, 1, columns);
        else if (y != nullptr) std::copy_n(row, columns, y + i * columns);
      }
    });
  });
}

/// Computes the gradients of tables a, b and c in one pass over the triples.
struct scored_gradients_op : op {
  static constexpr fixed_string name = "scored_gradients";
  using rule = misuse::equal_shapes;
  static constexpr kind argument_kind(int i) { return i < 4 ? kind::real : kind::whole; }
  static constexpr std::array<shape, 3> result(auto, const shape& a, const shape& b, const shape& c, auto...) {
    return {a, b, c};
  }
  static constexpr std::int64_t flops(const shape& g, const shape& a, const auto&...) { return 6 * g.count() * a[-1]; }
};
/// Scores triples (i, j, k) of rows of tables a, b and c, all {..., n}. The score is the sum of the products a[i] b[j]
/// c[k] if the triple is known, and 0 otherwise (Yang et al., Embedding Entities and Relations, 2015).
struct scored_op : op {
  static constexpr fixed_string name = "scored";
  using rule = misuse::equal_shapes;
  static constexpr bool contraction = true;
  static constexpr kind argument_kind(int i) { return i < 3 ? kind::real : kind::whole; }
  static constexpr int extent_indexed(int i, const auto&... x) {
    return i < 3 || i > 5 ? 0 : std::array<shape, 7>{x...}[static_cast<std::size_t>(i - 3)][0];
  }
  static constexpr shape result(const shape& a, const shape& b, const shape& c, const shape& i, const shape& j,
                                const shape& k, const shape& known) {
    const bool tables = a.rank == 2 && b.rank == 2 && c.rank == 2 && a[1] == b[1] && b[1] == c[1];
    return tables && i.rank == 1 && i == j && j == k && k == known ? i : no_shape;
  }
  static constexpr std::int64_t flops(const shape& a, const auto&, const auto&, const shape& i, const auto&...) {
    return 3 * i.count() * a[-1];
  }
  // [gradients]
  static constexpr auto vjp(auto g, auto, auto a, auto b, auto c, auto i, auto j, auto k, auto known) {
    const auto [of_a, of_b, of_c] = make<scored_gradients_op>(g, a, b, c, i, j, k, known);
    return gradients(of_a, of_b, of_c, no_gradient{}, no_gradient{}, no_gradient{}, no_gradient{});
  }
  // [gradients]
};
template <an_expression... X>
constexpr made<scored_op, X...> scored(X...) {
  return {};
}
/// Returns argument number I of a kernel, in the type of its elements.
template <int I, class Real, class... X>
auto* argument_of(void* const* arguments) {
  using tensor = std::tuple_element_t<I, std::tuple<X...>>;
  return static_cast<const stored_as<tensor::element.type, Real>*>(arguments[I]);
}
template <class Real, class A, class... X>
void compute(scored_op, signature<Real, A, X...>, void* const* operands) {
  constexpr int n = A::shape[-1];
  constexpr auto triples = scored_op::result(A::shape, X::shape...).count();
  void* const* const in = operands + 1;
  const auto *a = argument_of<0, Real, A, X...>(in), *b = argument_of<1, Real, A, X...>(in),
             *c = argument_of<2, Real, A, X...>(in);
  const auto* i = argument_of<3, Real, A, X...>(in);
  const auto* j = argument_of<4, Real, A, X...>(in);
  const auto* k = argument_of<5, Real, A, X...>(in);
  const auto* known = argument_of<6, Real, A, X...>(in);
  for (int t = 0; t < triples; ++t) {
    Real sum = 0;
    for (int e = 0; e < n; ++e) sum += a[i[t] * n + e] * b[j[t] * n + e] * c[k[t] * n + e];
    static_cast<Real*>(operands[0])[t] = known[t] != 0 ? sum : 0;
  }
}
template <class Real, class G, class A, class B, class C, class... X>
void compute(scored_gradients_op, signature<Real, G, A, B, C, X...>, void* const* operands) {
  constexpr int n = A::shape[-1];
  Real *of_a = static_cast<Real*>(operands[0]), *of_b = static_cast<Real*>(operands[1]),
       *of_c = static_cast<Real*>(operands[2]);
  void* const* const in = operands + 3;
  const auto *g = argument_of<0, Real, G, A, B, C, X...>(in), *a = argument_of<1, Real, G, A, B, C, X...>(in),
             *b = argument_of<2, Real, G, A, B, C, X...>(in), *c = argument_of<3, Real, G, A, B, C, X...>(in);
  const auto* i = argument_of<4, Real, G, A, B, C, X...>(in);
  const auto* j = argument_of<5, Real, G, A, B, C, X...>(in);
  const auto* k = argument_of<6, Real, G, A, B, C, X...>(in);
  const auto* known = argument_of<7, Real, G, A, B, C, X...>(in);
  if (of_a != nullptr) std::fill_n(of_a, A::shape.count(), Real{0});
  if (of_b != nullptr) std::fill_n(of_b, B::shape.count(), Real{0});
  if (of_c != nullptr) std::fill_n(of_c, C::shape.count(), Real{0});
  for (int t = 0; t < G::shape.count(); ++t) {
    for (int e = 0; known[t] != 0 && e < n; ++e) {
      const Real x = a[i[t] * n + e], y = b[j[t] * n + e], z = c[k[t] * n + e];
      if (of_a != nullptr) of_a[i[t] * n + e] += g[t] * y * z;
      if (of_b != nullptr) of_b[j[t] * n + e] += g[t] * x * z;
      if (of_c != nullptr) of_c[k[t] * n + e] += g[t] * x * y;
    }
  }
}

/// Subtracts the mean of the rows from x {rows, features}. The second result is the running mean {features}, moved a
/// tenth of the way towards the mean.
struct centered_op : op {
  static constexpr fixed_string name = "centered";
  using rule = misuse::equal_shapes;
  static constexpr next_state becomes(int argument) { return {.result = argument == 1 ? 1 : -1}; }
  static constexpr std::array<shape, 2> result(const shape& x, const shape& running) {
    return {x.rank == 2 && shape(x[1]) == running ? x : no_shape, running};
  }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return 2 * x.count(); }
  static constexpr auto vjp(auto g, auto of_next, auto, auto, auto x, auto) {
    return gradients(g - mean<0>(g) + of_next * constant<0.1 / decltype(x)::shape[0]>, of_next * 0.9_c);
  }
};
/// In a predictor, subtracts the running mean instead.
template <fixed_string Name, an_expression X>
constexpr auto centered(X x) {
  const auto running = state<Name, initial{}, X::shape[-1]>;
  return in_training(std::get<0>(make<centered_op>(x, running)), x - running);
}
template <class Real, class X, class Running>
void compute(centered_op, signature<Real, X, Running>, void* const* operands) {
  constexpr int rows = X::shape[0], features = X::shape[1];
  Real *y = static_cast<Real*>(operands[0]), *next = static_cast<Real*>(operands[1]);
  const Real *x = static_cast<const Real*>(operands[2]), *running = static_cast<const Real*>(operands[3]);
  for (int f = 0; f < features; ++f) {
    Real sum = 0;
    for (int r = 0; r < rows; ++r) sum += x[r * features + f];
    for (int r = 0; y != nullptr && r < rows; ++r) y[r * features + f] = x[r * features + f] - sum / rows;
    if (next != nullptr) next[f] = Real(0.9) * running[f] + Real(0.1) * (sum / rows);
  }
}

// [maps]
/// Reverses an axis.
template <int Axis>
struct flipped_op : op {
  static constexpr fixed_string name = "flipped";
  using rule = misuse::axes_exist;
  static constexpr bool mapped = true;
  static constexpr shape result(const shape& x) { return Axis < x.rank ? x : no_shape; }
  static constexpr axis_map map(const shape& x, int axis) {
    if (axis != Axis) return {};
    return {.begin = x[Axis] - 1, .step = -1};
  }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<flipped_op>(g)); }
};
// [maps]
/// Moves the elements of an axis forward by `By`. Elements that leave the axis at one end enter it at the other end.
template <int Axis, int By>
struct rolled_op : flipped_op<Axis> {
  static constexpr fixed_string name = "rolled";
  static constexpr axis_map map(const shape&, int axis) {
    if (axis != Axis) return {};
    return {.begin = -By, .outside = nn::edge::wrap};
  }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<rolled_op<Axis, -By>>(g)); }
};
/// Repeats each element of an axis `Times` times.
template <int Axis, int Times>
struct upsampled_op : flipped_op<Axis> {
  static constexpr fixed_string name = "upsampled";
  static constexpr shape result(shape x) {
    if (Axis >= x.rank) return no_shape;
    x.extent[Axis] *= Times;
    return x;
  }
  static constexpr axis_map map(const shape&, int axis) {
    if (axis != Axis) return {};
    return {.repeat = Times};
  }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape apart = [](shape s) {
      for (int axis = s.rank++; axis > Axis + 1; --axis) s.extent[axis] = s.extent[axis - 1];
      s.extent[Axis + 1] = Times;
      return s;
    }(decltype(x)::shape);
    return gradients(sum<Axis + 1>(make<lang::reshape_op<apart>>(g)));
  }
};
template <int Axis, an_expression X>
constexpr made<flipped_op<Axis>, X> flipped(X) {
  return {};
}
template <int Axis, int By, an_expression X>
constexpr made<rolled_op<Axis, By>, X> rolled(X) {
  return {};
}
template <int Axis, int Times, an_expression X>
constexpr made<upsampled_op<Axis, Times>, X> upsampled(X) {
  return {};
}

// [type]
/// A half-precision number in ARM's alternative format, with five bits of exponent and eleven bits of precision. The
/// format has neither infinities nor NaN, which become the largest number.
struct half {
  static constexpr cairn::dtype dtype = cairn::dtype::own;
  /// Multiplying by `scale` maps the exponents of a half to the lowest exponents of a float.
  static constexpr float largest = 131008, scale = 0x1p-112F;
  std::uint16_t bits = 0;

  half() = default;
  /// Rounds to the nearest half, and to the even one of two equally near halves. A number below 2^-14 is rounded as a
  /// float first.
  template <std::floating_point Real>
  constexpr explicit half(Real x) {
    const float within = std::max(-largest, std::min(largest, static_cast<float>(x)));
    const auto all = std::bit_cast<std::uint32_t>(within * scale), size = all & 0x7fffffffU;
    bits = static_cast<std::uint16_t>((all >> 16 & 0x8000U) | (size + 0xfff + (all >> 13 & 1U)) >> 13);
  }
  template <std::floating_point Real>
  constexpr explicit operator Real() const {
    return static_cast<Real>(std::bit_cast<float>((bits & 0x8000U) << 16 | (bits & 0x7fffU) << 13) / scale);
  }
};
// [type]

}  // namespace own

// [element]
template <class Real>
struct cairn::element_in<cairn::dtype::own, Real> {
  using type = own::half;
};
// [element]
