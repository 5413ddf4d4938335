// Similarities and distances between rows, and losses that learn from them.
#pragma once

#include "cairn/op/comparison.hpp"
#include "cairn/op/reduce.hpp"

namespace cairn::lang {

template <class... A>
inline constexpr bool any_whole = (is_whole<A> || ...);

/// Computes the cosine of the angle between rows. The norm of a row is at least 1e-8, as in PyTorch. The smallest norm
/// is applied before the root, because the slope of the root at 0 is infinite.
constexpr auto cosine_of_rows(auto a, auto b) {
  constexpr auto norm_of = [](auto x) {
    const auto squares = lang::sum<-1>(lang::square(x));
    return lang::sqrt(lang::where(squares <= constant<1e-16>, constant<1e-16>, squares));
  };
  return lang::sum<-1>(a * b) / (norm_of(a) * norm_of(b));
}

template <fixed_string Name>
struct cosine_similarity_form : form_of_two<Name> {
  using rule = misuse::rows_to_compare;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <an_expression A, an_expression B>
  static constexpr auto body(A a, B b) {
    using owner = owner_of<A, B>;
    if constexpr (wrong<A> || wrong<B>) return pass_on<owner>(a, b);
    else if constexpr (any_whole<A, B>)
      return mistake<misuse::kind_mismatch, owner, fact::operation<Name, tensor_fact<A>, tensor_fact<B>>,
                     fact::takes<float, float>>{};
    else if constexpr (!fit(A::shape, B::shape))
      return wrong_shapes<cosine_similarity_form, owner, A, B>(std::index_sequence_for<A, B>{});
    else return lang::cosine_of_rows(a, b);
  }

 private:
  static constexpr bool fit(const shape& a, const shape& b) {
    return a.rank > 0 && b.rank > 0 && a[-1] == b[-1] && broadcast(a, b) != no_shape;
  }
};

/// Base of forms of three expressions with a margin, which is a number in <...>.
template <fixed_string Name, class Margin>
struct margin_form : form_of<Name, 3, misuse::three_arguments> {
  static constexpr shape shown(std::size_t, const shape& s) { return s; }

 protected:
  /// Returns the mistake among the arguments or in the margin, or `sound`.
  template <an_expression A, an_expression B, an_expression C>
  static constexpr auto problem_of(A a, B b, C c) {
    using owner = owner_of<A, B, C>;
    if constexpr (wrong<A> || wrong<B> || wrong<C>) return pass_on<owner>(a, b, c);
    else if constexpr (any_whole<A, B, C>)
      return mistake<misuse::kind_mismatch, owner,
                     fact::operation<Name, tensor_fact<A>, tensor_fact<B>, tensor_fact<C>>,
                     fact::takes<float, float, float>>{};
    else return problem_of_settings<Margin, owner, fact::in<>, fact::operation<Name>>();
  }
};

template <double Margin>
struct margin_of_triplets {
  static constexpr std::array all{
      setting("margin", Margin, Margin > 0 && setting::is_finite(Margin), "above 0, finite")};
};
template <double Margin>
struct triplet_loss_form : margin_form<"triplet_loss", margin_of_triplets<Margin>> {
  using rule = misuse::equal_rows;
  template <an_expression A, an_expression P, an_expression N>
  static constexpr auto body(A anchor, P positive, N negative) {
    using problem = decltype(triplet_loss_form::problem_of(anchor, positive, negative));
    if constexpr (!std::same_as<problem, sound>) return problem{};
    else if constexpr (A::shape.rank == 0 || A::shape != P::shape || A::shape != N::shape)
      return wrong_shapes<triplet_loss_form, owner_of<A, P, N>, A, P, N>(std::index_sequence_for<A, P, N>{});
    else return lang::mean(lang::relu(distance(anchor, positive) - distance(anchor, negative) + constant<Margin>));
  }

 private:
  /// Computes the distances between rows. 1e-6 is added to each difference, as in PyTorch, so that the slope of the
  /// distance between equal rows is finite.
  static constexpr auto distance(auto a, auto b) {
    return lang::sqrt(lang::sum<-1>(lang::square(a - b + constant<1e-6>)));
  }
};

template <double Margin>
struct margin_of_cosines {
  static constexpr std::array all{setting("margin", Margin, Margin >= -1 && Margin <= 1, "from -1 to 1")};
};
template <double Margin>
struct cosine_embedding_loss_form : margin_form<"cosine_embedding_loss", margin_of_cosines<Margin>> {
  using rule = misuse::pairs_and_targets;
  template <an_expression A, an_expression B, an_expression T>
  static constexpr auto body(A a, B b, T target) {
    using problem = decltype(cosine_embedding_loss_form::problem_of(a, b, target));
    if constexpr (!std::same_as<problem, sound>) return problem{};
    else if constexpr (!fit(A::shape, B::shape, T::shape))
      return wrong_shapes<cosine_embedding_loss_form, owner_of<A, B, T>, A, B, T>(std::index_sequence_for<A, B, T>{});
    else {
      const auto cosine = lang::cosine_of_rows(a, b);
      const auto of_others = lang::where(target == constant<-1>, lang::relu(cosine - constant<Margin>), 0_c);
      return lang::mean(lang::where(target == 1_c, 1_c - cosine, of_others));
    }
  }

 private:
  static constexpr bool fit(const shape& a, const shape& b, const shape& target) {
    return a.rank > 0 && a == b && reduced(a, detail::axis_set{1} << (a.rank - 1), false) == target;
  }
};

/// Computes the cosine of the angle between rows, which are the last axes of two arrays {..., D}, as
/// F.cosine_similarity(a, b, dim=-1) does. The leading axes broadcast. A row of zeros has the similarity 0 to all rows.
/// Rejects: last axes of different extents.
template <class... A>
  requires some_operands<A...>
constexpr applied<cosine_similarity_form<"cosine_similarity">, A...> cosine_similarity(A...) {
  return {};
}

/// Computes the mean over the rows of `1 - c` where the target is 1, and of `max(0, c - Margin)` where the target is
/// -1, as F.cosine_embedding_loss(a, b, target) does. c is the cosine_similarity of two rows. Rows with other targets
/// add 0. The arrays are {..., D}, and the targets, which are real numbers, are {...}.
/// Rejects: other shapes; a Margin outside of [-1, 1].
template <auto Margin = 0.0, class... A>
  requires some_operands<A...>
constexpr applied<cosine_embedding_loss_form<static_cast<double>(Margin)>, A...> cosine_embedding_loss(A...) {
  return {};
}

/// Computes the mean over the rows of `max(0, d(anchor, positive) - d(anchor, negative) + Margin)`, as
/// F.triplet_margin_loss does. d is the Euclidean distance between two rows, which are the last axes of arrays
/// {..., D}.
/// Rejects: arrays of different shapes; a Margin that is not above 0.
template <auto Margin = 1.0, class... A>
  requires some_operands<A...>
constexpr applied<triplet_loss_form<static_cast<double>(Margin)>, A...> triplet_loss(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::cosine_embedding_loss, lang::cosine_similarity, lang::triplet_loss;
}  // namespace cairn
