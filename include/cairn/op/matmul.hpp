// Matrix products.
#pragma once

#include "cairn/cost/blocking.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/transpose.hpp"

namespace cairn::lang {

/// Multiplies matrices: {..., m, k} x {..., k, n} -> {..., m, n}. If TransposeA is true, the first argument is
/// {..., k, m}. If TransposeB is true, the second argument is {..., n, k}. Leading axes broadcast.
template <bool TransposeA, bool TransposeB>
struct matmul_op : op {
  static constexpr fixed_string name = "matmul";
  using rule = misuse::inner_extents_equal;
  static constexpr bool contraction = true;
  static constexpr shape shown(std::size_t i, shape s) {
    if ((i == 0 ? TransposeA : TransposeB) && s.rank >= 2) std::swap(s.extent[s.rank - 1], s.extent[s.rank - 2]);
    return s;
  }
  static constexpr int rows(const shape& a) { return a[TransposeA ? -1 : -2]; }
  static constexpr int inner(const shape& a) { return a[TransposeA ? -2 : -1]; }
  static constexpr int columns(const shape& b) { return b[TransposeB ? -2 : -1]; }

  static constexpr shape result(const shape& a, const shape& b) {
    if (a.rank < 2 || b.rank < 2 || inner(a) != b[TransposeB ? -1 : -2]) return no_shape;
    shape left = a, right = b;
    left.extent[a.rank - 2] = right.extent[b.rank - 2] = rows(a);
    left.extent[a.rank - 1] = right.extent[b.rank - 1] = columns(b);
    return broadcast(left, right);
  }
  static constexpr std::int64_t flops(const shape& a, const shape& b) { return 2 * result(a, b).count() * inner(a); }

  /// Returns true if b is a single matrix for all leading axes of a, and if the rows of all these matrices can be the
  /// rows of one product. The number of rows must not exceed the largest extent.
  static constexpr bool folds_leading_axes(const shape& a, const shape& b) {
    return !TransposeA && a.rank > 2 && b.rank == 2 && std::in_range<int>(a.count() / inner(a));
  }
  /// Returns the product that is computed for each index of the remaining leading axes.
  static constexpr costs::product one(const shape& a, const shape& b) {
    const std::int64_t m = folds_leading_axes(a, b) ? a.count() / inner(a) : rows(a);
    return {static_cast<int>(m), columns(b), inner(a), TransposeA, TransposeB};
  }
  /// Returns the number of products, one for each index of the remaining leading axes.
  static constexpr std::int64_t products(const shape& a, const shape& b) {
    const costs::product each = one(a, b);
    return result(a, b).count() / (std::int64_t{each.m} * each.n);
  }

  static constexpr tiling tiling_of(int bytes, const shape& a, const shape& b) {
    const costs::product each = one(a, b);
    if (products(a, b) > 1 || costs::blocking_of(each, bytes).open_sums > 0) return tiling::none;
    return each.k > costs::blocking_of(each, bytes).depth ? tiling::summed_in_result : tiling::complete;
  }
  static constexpr reading reads(int, const auto&...) { return {.numbers = reading::as_stored, .row_axes = 1}; }
  /// The kernel of a single product does not round, because a fused loop takes its tiles and rounds them. The kernel of
  /// several products rounds if each tile is complete at once.
  static constexpr making makes(int, int bytes, const shape& a, const shape& b) {
    return {.rounds = products(a, b) > 1 && inner(a) <= costs::blocking_of(one(a, b), bytes).depth,
            .tiles = tiling_of(bytes, a, b)};
  }
  /// The rows of a matrix are rows of the product only in the first argument. If there are leading axes, both arguments
  /// may have an entry for each entry of the product.
  static constexpr bool keeps_rows(int i, const shape& a, const shape& b) {
    const shape made = result(a, b), &x = i == 0 ? a : b;
    return x.rank == made.rank && x[0] == made[0] && (x.rank > 2 || (i == 0 && !TransposeA));
  }
  static constexpr workspace scratch(int bytes, const shape& a, const shape& b) {
    const workspace own = costs::blocking_of(one(a, b), bytes).needed_workspace;
    // Threads share a single product. If there are several products, each thread computes whole products.
    if (products(a, b) == 1) return own;
    return {own.numbers(1), parts_of(flops(a, b), products(a, b))};
  }

  template <class G, class Y, class A, class B>
  static constexpr auto vjp(G g, Y, A a, B b) {
    if constexpr (folds_leading_axes(A::shape, B::shape)) {
      constexpr int k = inner(A::shape), n = columns(B::shape);
      return gradients(multiply<false, !TransposeB>(g, b), gradient_b(reshape<-1, k>(a), reshape<-1, n>(g)));
    } else {
      return gradients(gradient_a(b, g), gradient_b(a, g));
    }
  }

 private:
  template <bool P, bool Q>
  static constexpr auto multiply(auto a, auto b) {
    return make<matmul_op<P, Q>>(a, b);
  }
  static constexpr auto gradient_a(auto b, auto g) {
    if constexpr (TransposeA) return multiply<TransposeB, true>(b, g);
    else return multiply<false, !TransposeB>(g, b);
  }
  static constexpr auto gradient_b(auto a, auto g) {
    if constexpr (TransposeB) return multiply<true, TransposeA>(g, a);
    else return multiply<!TransposeA, false>(a, g);
  }
};

template <class E>
struct untransposed {
  using type = E;
  static constexpr bool folded = false;
};
template <auto Permutation, class A>
  requires(A::shape.rank >= 2 && Permutation == swap_last_two<A::shape.rank>())
struct untransposed<expr<transpose_op<Permutation>, A>> {
  using type = A;
  static constexpr bool folded = true;
};
template <class Opaque>
  requires untransposed<revealed<Opaque>>::folded
struct untransposed<renamed<Opaque>> : untransposed<revealed<Opaque>> {};

/// Matrix product over the last two axes. Leading axes broadcast. `matmul(x, transpose(w))` reads w in place.
template <an_operand A, an_operand B>
constexpr made<matmul_op<untransposed<A>::folded, untransposed<B>::folded>, typename untransposed<A>::type,
               typename untransposed<B>::type>
matmul(A, B) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::matmul;
}  // namespace cairn
