// Systems of linear equations and the Cholesky factor, for small matrices.
#pragma once

#include "cairn/lang/generated.hpp"
#include "cairn/op/matmul.hpp"

namespace cairn::lang {

/// Returns true if the last two axes of an array are a square matrix.
constexpr bool is_square(const shape& a) { return a.rank >= 2 && a[-1] == a[-2]; }

/// Solves A X = B for matrices A {..., n, n} and right-hand sides B {..., n, k}, by an LU decomposition with partial
/// pivoting. The gradient of B is the solution of A^T Y = G, and the gradient of A is -Y X^T.
struct solve_op : op {
  static constexpr fixed_string name = "solve";
  using rule = misuse::systems_of_equations;
  static constexpr shape result(const shape& a, const shape& b) {
    if (!is_square(a) || b.rank != a.rank || b[-2] != a[-1]) return no_shape;
    shape made = a;
    made.extent[a.rank - 1] = b[-1];
    return made == b ? b : no_shape;
  }
  static constexpr bool keeps_rows(int, const shape& a, const shape&) { return a.rank > 2; }
  static constexpr std::int64_t matrices(const shape& a) { return a.count() / (std::int64_t{a[-1]} * a[-1]); }
  static constexpr std::int64_t flops(const shape& a, const shape& b) {
    return a.count() * a[-1] * 2 / 3 + 2 * b.count() * a[-1];
  }
  /// Each thread decomposes a copy of a matrix.
  static constexpr workspace scratch(int, const shape& a, const shape& b) {
    return {.each = std::int64_t{a[-1]} * a[-1], .parts = parts_of(10 * flops(a, b), matrices(a))};
  }
  static constexpr auto vjp(auto g, auto x, auto a, auto) {
    const auto of_b = make<solve_op>(transpose(a), g);
    return gradients(-matmul(of_b, transpose(x)), of_b);
  }
};

/// Computes the lower triangular matrix L with L L^T = A, for symmetric positive definite matrices A {..., n, n}.
/// The gradient is that of Murray: Differentiation of the Cholesky decomposition (2016). Like PyTorch's, it is
/// symmetric.
struct cholesky_op : op {
  static constexpr fixed_string name = "cholesky";
  using rule = misuse::square_matrices;
  static constexpr making makes(int, int, const shape&) { return {.overwrites = 0}; }
  static constexpr shape result(const shape& a) { return is_square(a) ? a : no_shape; }
  static constexpr bool keeps_rows(int, const shape& a) { return a.rank > 2; }
  static constexpr std::int64_t flops(const shape& a) { return a.count() * a[-1] / 3; }
  static constexpr auto vjp(auto g, auto l, auto) {
    constexpr int n = decltype(l)::shape[-1];
    const auto lower =
        in_type_of<decltype(l)>(generated<n, n>([](int i, int j) { return j < i ? 1.0 : j == i ? 0.5 : 0.0; }));
    const auto left = make<solve_op>(transpose(l), matmul(transpose(l), g) * lower);
    const auto both = make<solve_op>(transpose(l), transpose(left));
    return gradients(0.5_c * (both + transpose(both)));
  }
};

/// Solves A X = B, as torch.linalg.solve does: `solve(a, b)` for matrices a {..., n, n} and b {..., n, k}. Leading axes
/// are equal. If a matrix is singular, its X contains infinities or NaN.
/// Rejects: other shapes. A vector b is `unsqueeze<-1>(b)`.
template <class... A>
  requires some_operands<A...>
constexpr applied<form_applying<solve_op, form_of_two<"solve">>, A...> solve(A...) {
  return {};
}

/// Computes the lower triangular L with L L^T = A, as torch.linalg.cholesky does, for symmetric positive definite
/// matrices a {..., n, n}. Only the lower triangle of a is read. If a matrix is not positive definite, its L contains
/// NaN, or zeros on its diagonal if the matrix is singular.
/// Rejects: matrices that are not square.
template <an_operand A, class... Surplus>
constexpr applied<form_applying<cholesky_op, form_of_one<"cholesky">>, A, Surplus...> cholesky(A, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::cholesky, lang::solve;
}  // namespace cairn
