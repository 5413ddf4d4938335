// Products of two tensors with a letter for each axis.
#pragma once

#include "cairn/op/matmul.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace cairn::lang {

/// The letters of a tensor's axes, in the order of the axes.
struct axis_letters {
  char of[max_rank]{};
  int count = 0;

  constexpr int at(char letter) const {
    for (int axis = 0; axis < count; ++axis)
      if (of[axis] == letter) return axis;
    return -1;
  }
  constexpr bool has(char letter) const { return at(letter) >= 0; }
  constexpr void add(char letter) { of[count++] = letter; }
  /// Returns the letters for which choose(letter) is true.
  constexpr axis_letters those(auto choose) const {
    axis_letters some;
    for (int axis = 0; axis < count; ++axis)
      if (choose(of[axis])) some.add(of[axis]);
    return some;
  }
  friend constexpr axis_letters operator+(axis_letters a, const axis_letters& b) {
    for (int axis = 0; axis < b.count; ++axis) a.add(b.of[axis]);
    return a;
  }
  friend constexpr bool operator==(const axis_letters&, const axis_letters&) = default;
};

/// The letters of two arguments and of their product, read from a text like "ij,jk->ik". Spaces between letters and
/// signs are skipped.
struct einsum_text {
  enum fault : std::uint8_t { none, characters, repeated, unknown, too_many };

  axis_letters a, b, out;
  fault found = none;
  char at = '\0';  ///< the letter or the character with the fault

  constexpr explicit einsum_text(std::string_view text) {
    axis_letters* const parts[]{&a, &b, &out};
    int part = 0;
    for (std::size_t i = 0; i < text.size() && found == none; ++i) {
      at = text[i];
      if (at == ' ') continue;
      if (part == 0 && at == ',') part = 1;
      else if (part == 1 && at == '-' && i + 1 < text.size() && text[i + 1] == '>') part = 2, ++i;
      else found = add(*parts[part]);
      if (found == none && part == 2 && at != '-' && !a.has(at) && !b.has(at)) found = unknown;
    }
    if (found == none && part != 2) found = characters;
  }

 private:
  constexpr fault add(axis_letters& to) const {
    if (!(at >= 'a' && at <= 'z') && !(at >= 'A' && at <= 'Z')) return characters;
    if (to.has(at)) return repeated;
    if (to.count == max_rank) return too_many;
    to.add(at);
    return none;
  }
};

/// An expression and the letters of its axes.
template <axis_letters Letters, class X>
struct lettered {
  static constexpr axis_letters letters = Letters;
  static constexpr int extent(char letter) { return X::shape.extent[Letters.at(letter)]; }
  /// Returns the number of elements along these axes. Axes that the expression does not have count once.
  static constexpr std::int64_t count(const axis_letters& some) {
    std::int64_t n = 1;
    for (int axis = 0; axis < some.count; ++axis) n *= Letters.has(some.of[axis]) ? extent(some.of[axis]) : 1;
    return n;
  }
  /// Returns the expression with its axes in another order.
  template <axis_letters To>
  static constexpr auto in_order() {
    if constexpr (To == Letters) {
      return X{};
    } else {
      constexpr auto permutation = [] {
        std::array<int, static_cast<std::size_t>(To.count)> axes{};
        for (int axis = 0; axis < To.count; ++axis) axes[static_cast<std::size_t>(axis)] = Letters.at(To.of[axis]);
        return axes;
      }();
      return make<transpose_op<permutation>>(X{});
    }
  }
  /// Returns the expression without the axes for which keep(letter) is false, which are summed over.
  template <axis_letters Kept>
  static constexpr auto summed() {
    constexpr detail::axis_set others = [] {
      detail::axis_set set = 0;
      for (int axis = 0; axis < Letters.count; ++axis)
        if (!Kept.has(Letters.of[axis])) set |= detail::axis_set{1} << axis;
      return set;
    }();
    if constexpr (others == 0) return lettered{};
    else return lettered<Kept, decltype(make<sum_op<others, false>>(X{}))>{};
  }
};

/// Computes the product of two lettered expressions. Each letter of an argument is a letter of the other argument or of
/// the result. A letter is contracted if it is not in the result.
///
/// The elements are multiplied if no letter is contracted, or if both arguments have the same letters. Otherwise the
/// product is a matrix product for each index of the shared letters. The rows are the other letters of the first
/// argument, and the columns are the other letters of the second argument. A matrix product can contract the rows or
/// the columns of each argument, so most orders of the letters need no transposition.
template <axis_letters Out, class A, class B>
struct einsum_product {
  static constexpr axis_letters a = A::letters, b = B::letters;
  static constexpr axis_letters shared = a.those([](char c) { return b.has(c) && Out.has(c); });
  static constexpr axis_letters contracted = a.those([](char c) { return !Out.has(c); });
  static constexpr axis_letters rows = a.those([](char c) { return !b.has(c); });
  static constexpr axis_letters columns = b.those([](char c) { return !a.has(c); });
  static constexpr axis_letters all = shared + rows + columns;

  static constexpr bool is_matrix_product = contracted.count > 0 && rows.count + columns.count > 0;
  /// True if the extents of the matrices, which are products of extents, are extents of a tensor.
  static constexpr bool matrices_fit = detail::is_extent(A::count(shared)) && detail::is_extent(A::count(contracted)) &&
                                       detail::is_extent(A::count(rows)) && detail::is_extent(B::count(columns));

  static constexpr auto result() {
    if constexpr (contracted.count == 0) return along_result<A>() * along_result<B>();
    else if constexpr (!is_matrix_product) return sum_of_products();
    else return matrix_product();
  }

 private:
  /// Returns an argument with the axes of the result. Axes that the argument does not have get extent 1.
  template <class X>
  static constexpr auto along_result() {
    constexpr axis_letters own = Out.those([](char c) { return X::letters.has(c); });
    constexpr shape to = [] {
      shape s;
      for (s.rank = 0; s.rank < Out.count; ++s.rank)
        s.extent[s.rank] = X::letters.has(Out.of[s.rank]) ? X::extent(Out.of[s.rank]) : 1;
      return s;
    }();
    return reshaped<to>(X::template in_order<own>());
  }
  static constexpr auto sum_of_products() {
    const auto products = lettered<a, decltype(A::template in_order<a>() * B::template in_order<a>())>{};
    return decltype(products.template summed<shared>())::template in_order<Out>();
  }
  /// Returns an argument as matrices {shared, own, contracted}, or {shared, contracted, own} if `Transposed` is true.
  template <class X, axis_letters Own, bool Transposed>
  static constexpr auto matrices() {
    constexpr axis_letters order = Transposed ? shared + contracted + Own : shared + Own + contracted;
    constexpr std::int64_t first = X::count(Transposed ? contracted : Own);
    constexpr std::int64_t second = X::count(Transposed ? Own : contracted);
    const auto x = X::template in_order<order>();
    if constexpr (shared.count == 0) return reshaped<shape{first, second}>(x);
    else return reshaped<shape{X::count(shared), first, second}>(x);
  }
  static constexpr auto matrix_product() {
    constexpr bool rows_last = !contracted.has(a.of[a.count - 1]), columns_last = !contracted.has(b.of[b.count - 1]);
    const auto product =
        make<matmul_op<rows_last, !columns_last>>(matrices<A, rows, rows_last>(), matrices<B, columns, columns_last>());
    constexpr shape to = [] {
      shape s;
      for (s.rank = 0; s.rank < all.count; ++s.rank)
        s.extent[s.rank] = a.has(all.of[s.rank]) ? A::extent(all.of[s.rank]) : B::extent(all.of[s.rank]);
      return s;
    }();
    return lettered<all, decltype(reshaped<to>(product))>::template in_order<Out>();
  }
};

template <fixed_string... Text>
struct einsum_form : unfit_form<"einsum"> {};
template <fixed_string Text>
struct einsum_form<Text> : form_of_two<"einsum"> {
  static constexpr einsum_text text{Text};

  template <an_expression A, an_expression B>
  static constexpr auto body(A x, B y) {
    using owner = owner_of<A, B>;
    using what = fact::operation<"einsum", tensor_fact<A>, tensor_fact<B>>;
    using said = fact::letters<Text>;
    if constexpr (wrong<A> || wrong<B>) {
      return pass_on<owner>(x, y);
    } else if constexpr (text.found == einsum_text::characters) {
      return mistake<misuse::text_of_einsum, owner, what, said>{};
    } else if constexpr (text.found == einsum_text::repeated) {
      return mistake<misuse::repeated_letter, owner, what, said, fact::letter<text.at>>{};
    } else if constexpr (text.found == einsum_text::unknown) {
      return mistake<misuse::letter_of_result, owner, what, said, fact::letter<text.at>>{};
    } else if constexpr (text.found == einsum_text::too_many || !fit(A::shape, B::shape)) {
      return mistake<misuse::letters_of_axes, owner, what, said>{};
    } else {
      constexpr axis_letters a = text.a.those([](char c) { return text.b.has(c) || text.out.has(c); });
      constexpr axis_letters b = text.b.those([](char c) { return text.a.has(c) || text.out.has(c); });
      using first = decltype(lettered<text.a, A>::template summed<a>());
      using second = decltype(lettered<text.b, B>::template summed<b>());
      constexpr char last = text.out.count == 0 ? '\0' : text.out.of[text.out.count - 1];
      using product = std::conditional_t<a.has(last), einsum_product<text.out, second, first>,
                                         einsum_product<text.out, first, second>>;
      if constexpr (product::is_matrix_product && !product::matrices_fit)
        return mistake<misuse::matrices_of_einsum, owner, what, said>{};
      else return product::result();
    }
  }

 private:
  /// Returns true if there is a letter for each axis, and if axes with the same letter have equal extents.
  static constexpr bool fit(const shape& a, const shape& b) {
    if (text.a.count != a.rank || text.b.count != b.rank) return false;
    for (int axis = 0; axis < b.rank; ++axis) {
      const int other = text.a.at(text.b.of[axis]);
      if (other >= 0 && a.extent[other] != b.extent[axis]) return false;
    }
    return true;
  }
};

/// Computes a product of two tensors with a letter for each axis, as torch.einsum does:
/// `einsum<"bij,bjk->bik">(a, b)`. Axes with the same letter are multiplied element by element. Letters that are not in
/// the result are summed over. A sum over letters of both tensors is a matrix product, unless all letters are in both.
/// Rejects: a letter twice in one tensor; a letter of the result that no tensor has; different extents of one letter;
/// dots, and a text without an arrow; a matrix product over 2^31 indices or more, or with as many rows or columns.
template <fixed_string... Text, class... A>
  requires some_operands<A...>
constexpr applied<einsum_form<Text...>, A...> einsum(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::einsum;
}  // namespace cairn
