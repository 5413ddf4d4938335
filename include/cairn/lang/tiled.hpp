// Tiles: a layer that treats rows independently runs on one group of rows after another. Only one group's interior is
// alive at a time. Bekman et al., Arctic Long Sequence Training, 2025.
#pragma once

#include "cairn/lang/scan.hpp"

#include <bit>

namespace cairn::lang {

/// The mark of a layer that is applied to N groups of rows, or to at most as many groups as `up_to<...>` says. Each
/// group is a segment. The segment may be useless, because the groups also save bytes in the forward pass.
template <auto N>
struct tiled_mark : segment_mark<"tiled", allow_useless> {
  static constexpr fixed_string function = "tiled";
};

template <int N, class E, std::size_t... Axis>
tensor<E::element, (Axis == 0 ? E::shape.extent[0] / N : E::shape.extent[Axis])...> group_of_rows(
    std::index_sequence<Axis...>);
/// The tensor of one of N groups of rows of E.
template <int N, class E>
using row_group = decltype(group_of_rows<N, E>(axes_of_expression<E>{}));

/// F applied to N groups of rows of the arguments, one group after another. It has the members of a scan without
/// carried values, in which each iteration reads and computes one group.
template <int N, class F, an_expression... X>
struct tiled_call : expression {
  using owner = owner_of<X...>;
  using policy = store_all;
  using mark = segment_mark<"tiled", allow_useless>;
  static constexpr int iterations = N;
  static constexpr fixed_string name = "tiled";
  static constexpr bool cuts_rows = true;
  static constexpr int level = merged_traits({X::traits...}).level;
  using body = call<mark, F, stage_input<level, row_group<N, X>>...>;
  using arguments = std::tuple<X...>;
  using tensors = std::tuple<row_group<N, X>...>;
  static constexpr int carried_count = 0, each_count = sizeof...(X), same_count = 0;
  static constexpr int result_count = static_cast<int>(body::results.size());

  static constexpr auto results = [] {
    auto out = body::results;
    for (tensor_type& made : out) made.extent[0] *= N;
    return out;
  }();
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits =
      traits_of_call(merged_traits({X::traits...}, false, (captured<owner, X> || ...)), body::inside, 1);
};

/// F applied to the arguments as it is or, if `fit<Bytes>` so chooses, to 2, 4, ... or N groups of rows. N is a power
/// of two.
template <int N, class F, an_expression... X>
struct tiled_up_to : call<stage_mark, F, X...> {
  static constexpr int result_count = static_cast<int>(call<stage_mark, F, X...>::results.size());
};

template <class Owner, int N, class F, class... X>
struct subexpressions_of<Owner, tiled_up_to<N, F, X...>> : subexpressions_of<Owner, call<stage_mark, F, X...>> {};
template <int N, class F, class... X>
inline constexpr auto known_as<tiled_up_to<N, F, X...>> = known_as<F>;
template <class Owner, int N, class F, class... X>
struct subexpressions_of<Owner, tiled_call<N, F, X...>> {
  using type = std::tuple<seen_from<Owner, X>..., seen_from<Owner, typename tiled_call<N, F, X...>::body>>;
};
template <int N, class F, class... X>
inline constexpr auto known_as<tiled_call<N, F, X...>> = known_as<F>;

/// Is true for a value with a first axis of `Rows` rows.
template <int Rows, class E>
inline constexpr bool has_rows = E::shape.rank > 0 && E::shape.extent[0] == Rows;
/// Is true for the result of an operation that has not `Rows` rows although an argument of the operation has.
template <int Rows, class E>
inline constexpr bool lost_rows = false;
template <int Rows, class Op, class... A>
inline constexpr bool lost_rows<Rows, expr<Op, A...>> = !has_rows<Rows, expr<Op, A...>> && (has_rows<Rows, A> || ...);
template <int Rows, class Opaque>
inline constexpr bool lost_rows<Rows, renamed<Opaque>> = lost_rows<Rows, revealed<Opaque>>;
template <int Rows>
struct is_without_rows {
  template <class, class E>
  static constexpr bool is = lost_rows<Rows, E>;
};
template <class Owner, int N, class... Facts>
constexpr auto rows_mixed_by(std::type_identity<std::tuple<Facts...>>) {
  return mistake<misuse::mixes_rows, Owner, Facts..., fact::groups<N>>{};
}

/// Returns the mistake in a tiled call with groups of `Rows` rows, or `sound`. `Once` is what F returns for one group.
template <class Tiled, int Rows, class Owner, class Once>
constexpr auto problem_of_groups(Once once) {
  if constexpr (wrong_body<Once>) {
    return pass_on<Owner>(first_value(once));
  } else if constexpr (!std::ranges::all_of(Tiled::body::results, [](const shape& made) {
                         return made.rank > 0 && made.extent[0] == Rows;
                       })) {
    using found = typename decltype([]<class... E>(std::type_identity<std::tuple<E...>>) {
      return first_match<is_without_rows<Rows>, seen_from<typename Tiled::body::inner_owner, E>...>();
    }(std::type_identity<typename Tiled::body::bodies>{}))::type;
    using shown =
        std::conditional_t<std::is_void_v<found>, std::tuple_element_t<0, typename Tiled::body::bodies>, found>;
    return lang::rows_mixed_by<Owner, Tiled::iterations>(std::type_identity<typename operation_fact<shown>::type>{});
  } else if constexpr (Tiled::traits.height > max_height) {
    return mistake<misuse::expression_too_large, Owner, fact::height<Tiled::traits.height>>{};
  } else {
    return sound{};
  }
}

/// Returns the largest number of groups of `nn::tiled<N>`. For `up_to<N>`, it is the largest power of two that is at
/// most N.
constexpr int most_groups_of(std::integral auto groups) { return static_cast<int>(groups); }
constexpr int most_groups_of(std::same_as<up_to_number> auto groups) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(groups.most, 0))));
}

template <auto Given, class F>
struct call_form<tiled_mark<Given>, F> : free_form<"tiled", misuse::not_callable> {
  static constexpr int N = most_groups_of(Given);
  static constexpr bool is_fixed = std::integral<decltype(Given)>;

  template <an_expression... X>
  static constexpr auto of(X... x) {
    using owner = owner_of<X...>;
    constexpr int rows = [](const shape& first, const auto&...) { return first.rank == 0 ? 0 : first.extent[0]; }(
                             X::shape..., cairn::shape{});
    if constexpr ((wrong<X> || ...)) {
      return pass_on<owner>(x...);
    } else if constexpr (std::same_as<owner, mixed_scopes>) {
      return mistake<misuse::captured_value, owner, fact::operation<"tiled", tensor_fact<X>...>>{};
    } else if constexpr (N < 1 || rows == 0 || !(has_rows<rows, X> && ...) || rows % std::max(N, 1) != 0) {
      return mistake<misuse::rows_in_groups, owner, fact::operation<"tiled", tensor_fact<X>...>, fact::groups<N>>{};
    } else {
      constexpr int level = merged_traits({X::traits...}).level;
      const auto once =
          call_form<segment_mark<"tiled", allow_useless>, F>::of(stage_input<level, row_group<N, X>>{}...);
      using made = tiled_call<N, F, X...>;
      using problem = decltype(problem_of_groups<made, rows / N, owner>(once));
      if constexpr (!std::same_as<problem, sound>)
        return in_place_of_results<body_size<std::remove_const_t<decltype(once)>>>(problem{});
      else if constexpr (is_fixed) return results_of_scan<made>();
      else if constexpr (std::same_as<decltype(problem_of_call<stage_mark, F>(x...)), sound>)
        return results_of_scan<tiled_up_to<N, F, X...>>();
      else return call_form<stage_mark, F>::of(x...);  // F does not fit all rows at once
    }
  }
};

}  // namespace cairn::lang

namespace cairn::nn {

/// Makes a layer that runs `f` on N groups of rows, one group after another, in the forward and in the backward pass:
/// `h | nn::tiled<4>(feed_forward)`. The rows are the entries along the first axis of the argument. The interior of a
/// group is recomputed in the backward pass, as in a segment, so the interior of only one group is alive at a time.
///
/// The result and the gradient of the argument have the same bits as without groups. The groups share the parameters.
/// The gradients of parameters are summed over the groups, from the last group to the first. Random operations draw the
/// same numbers as without groups.
///
/// If f takes several arguments, the rows of all of them are divided: `nn::tiled<4>(f, x, y)`.
///
/// `nn::tiled<up_to<N>>(f)` lets `fit<Bytes>` choose the number of groups: 1, 2, 4, ... up to N. With 1 group, f is
/// applied as it is, without a segment. The same holds in programs without `fit`, in predictors, and in models that
/// contain gradients of their own.
///
/// Rejects: a first axis that N does not divide; first axes of different extents. A program rejects an operation that
/// computes a row from other rows or from the row's position, or does not declare `keeps_rows`. It also rejects updates
/// of states, and what a segment rejects.
template <auto N, class F, class... A>
  requires(sizeof...(A) > 0 && requires { lang::most_groups_of(N); })
constexpr lang::applied<lang::block_form<lang::tiled_mark<N>>, F, A...> tiled(F, A...) {
  return {};
}
template <auto N, class F>
  requires(requires { lang::most_groups_of(N); })
constexpr lang::applied<lang::block_form<lang::tiled_mark<N>>, F> tiled(F) {
  return {};
}

}  // namespace cairn::nn
