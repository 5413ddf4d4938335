// Operations that are not the library's, one of each sort: docs/inside.md shows what stands between its marks.
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
/// log(1 + exp(x)), elementwise.
struct log1pexp_op : elementwise_op {
  static constexpr fixed_string name = "log1pexp";
  static constexpr auto vjp(auto g, auto /* result */, auto x) { return gradients(g * sigmoid(x)); }
};
template <an_expression X>
constexpr made<log1pexp_op, X> log1pexp(X) {
  return {};
}
/// V is one SIMD register, or one number. exp of what is never positive cannot overflow.
template <class V>
V lanewise(log1pexp_op, V x) {
  using kernel::abs, kernel::exp, kernel::log, kernel::max;
  return max(x, kernel::all<V>(0)) + log(kernel::all<V>(1) + exp(-abs(x)));
}
// [elementwise]

// [kernel]
/// Running sums of each row of {..., columns}: y[j] = x[0] + ... + x[j]; or, from the end, x[j] + ... +
/// x[columns - 1].
template <bool FromEnd>
struct running_sum_op : op {
  static constexpr fixed_string name = "running_sum";
  using rule = rule::axes_exist;
  static constexpr int overwrites(int /* result */) { return 0; }
  static constexpr shape result(const shape& x) { return x.rank > 0 ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<running_sum_op<!FromEnd>>(g)); }
};
template <an_expression X>
constexpr made<running_sum_op<false>, X> running_sum(X) {
  return {};
}
/// Operands: the result, then the argument. `overwrites` allows both to be the same memory.
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
/// The shape of what is one for each row.
constexpr shape rows_of(const shape& x, bool keep = false) {
  return x.rank > 0 ? reduced(x, axis_set{1} << (x.rank - 1), keep) : no_shape;
}
/// x {...} at the positions `at` {...} of its rows, among zeros: {..., Columns}.
template <int Columns>
struct placed_op;
/// The largest element of each row of {..., columns}, and where it stands: the first, if there are several.
struct largest_op : op {
  static constexpr fixed_string name = "largest";
  using rule = rule::axes_exist;
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
/// One element of each row of x {..., columns}, at the positions `at` {...}.
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
/// Each row of {..., columns} less its mean and divided by its deviation; and 1 / deviation {..., 1}.
struct normalized_op : op {
  static constexpr fixed_string name = "normalized";
  using rule = rule::axes_exist;
  static constexpr std::array<shape, 2> result(const shape& x) { return {x.rank > 0 ? x : no_shape, rows_of(x, true)}; }
  static constexpr std::int64_t flops(const shape& x) { return 6 * x.count(); }
  static constexpr tiling tiles(int /* bytes */, const shape&) { return tiling::complete; }
  static constexpr bool takes_rows(const shape&) { return true; }
  /// How many threads it is worth, and for each a row, with room for whole registers.
  static constexpr workspace scratch(int /* bytes */, const shape& x) {
    return {.each = (x[-1] + 15) / 16 * 16, .parts = parts_of(10 * flops(x), x.count() / x[-1])};
  }
  /// Where nobody but such rules reads the second result, and where somebody does.
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
void compute(normalized_op op, signature<Real, X>, void* const* operands, const kernel::launch& how) {
  constexpr int columns = X::shape[-1];
  constexpr workspace room = op.scratch(sizeof(Real), X::shape);
  Real *const y = static_cast<Real*>(operands[0]), *const scale = static_cast<Real*>(operands[1]);
  const Real* const x = static_cast<const Real*>(operands[2]);
  const int parts = std::min(room.parts, how.threads);
  kernel::in_parts(parts, [=, &how](int part) {
    Real* const row = static_cast<Real*>(operands[3]) + part * room.each;
    const range own = share(X::shape.count() / columns, 1, part, parts);
    how.in_rows(own, columns * sizeof(Real), [=, &how](range some) {
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

/// The gradients of tables a, b and c, in one pass over the triples.
struct scored_gradients_op : op {
  static constexpr fixed_string name = "scored_gradients";
  using rule = rule::equal_shapes;
  static constexpr kind argument_kind(int i) { return i < 4 ? kind::real : kind::whole; }
  static constexpr std::array<shape, 3> result(auto, const shape& a, const shape& b, const shape& c, auto...) {
    return {a, b, c};
  }
  static constexpr std::int64_t flops(const shape& g, const shape& a, const auto&...) { return 6 * g.count() * a[-1]; }
};
/// Of triples (i, j, k) of rows of tables a, b and c, all {..., n}: the sum of the products a[i] b[j] c[k], where the
/// triple is known, else 0 (Yang et al., Embedding Entities and Relations, 2015).
struct scored_op : op {
  static constexpr fixed_string name = "scored";
  using rule = rule::equal_shapes;
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
/// Operand number I of the arguments of a kernel, in the type of its elements.
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

/// x {rows, features} less the mean of its rows; and the running mean {features}, moved a tenth towards that.
struct centered_op : op {
  static constexpr fixed_string name = "centered";
  using rule = rule::equal_shapes;
  static constexpr next_state becomes(int argument) { return {.result = argument == 1 ? 1 : -1}; }
  static constexpr std::array<shape, 2> result(const shape& x, const shape& running) {
    return {x.rank == 2 && shape(x[1]) == running ? x : no_shape, running};
  }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return 2 * x.count(); }
  static constexpr auto vjp(auto g, auto of_next, auto, auto, auto x, auto) {
    return gradients(g - mean<0>(g) + of_next * constant<0.1 / decltype(x)::shape[0]>, of_next * 0.9_c);
  }
};
/// In a predictor x less the running mean.
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
/// An axis from its end to its beginning.
template <int Axis>
struct flipped_op : op {
  static constexpr fixed_string name = "flipped";
  using rule = rule::axes_exist;
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
/// An axis moved on by so many elements; what leaves it at one end enters it at the other.
template <int Axis, int By>
struct rolled_op : flipped_op<Axis> {
  static constexpr fixed_string name = "rolled";
  static constexpr axis_map map(const shape&, int axis) {
    if (axis != Axis) return {};
    return {.begin = -By, .outside = edge::wrap};
  }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<rolled_op<Axis, -By>>(g)); }
};
/// Each element of an axis so many times.
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
    return gradients(sum<Axis + 1>(make<reshape_op<apart>>(g)));
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
/// A half as ARM's alternative one: five bits of exponent, eleven of precision, and neither infinities nor NaN, which
/// become the largest.
struct half {
  static constexpr cairn::dtype dtype = cairn::dtype::own;
  static constexpr float largest = 131008, scale = 0x1p-112F;  ///< brings its exponents into the lowest of floats
  std::uint16_t bits = 0;

  half() = default;
  /// The nearest, of two the even one. What is below 2^-14 is rounded as a float first.
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
