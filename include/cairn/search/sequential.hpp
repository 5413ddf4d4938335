// Segments of a chain of layers.
#pragma once

#include "cairn/graph/work.hpp"
#include "cairn/lang/checkpoint.hpp"

#include <boost/hana/tuple.hpp>

namespace cairn {

namespace hana = boost::hana;

/// How ckpt_sequential cuts, where not by the number of layers: so that the most that is computed within a segment is
/// as little as can be. What a cut itself keeps, the value between two segments, does not count.
struct by_bytes {
  static constexpr std::int64_t of(const work& w) { return w.bytes; }
};
struct by_flops {
  static constexpr std::int64_t of(const work& w) { return w.flops; }
};
template <class T>
concept a_measure = std::same_as<T, by_bytes> || std::same_as<T, by_flops>;

namespace detail {
/// Segment i of a chain has the layers [begin[i], begin[i + 1]).
template <int Segments>
struct cuts {
  int begin[Segments + 1] = {};
};

/// No segment has two layers more than another.
template <int Segments>
constexpr cuts<Segments> cut_evenly(int layers) {
  cuts<Segments> out;
  for (int i = 0; i <= Segments; ++i) out.begin[i] = i * (layers / Segments) + std::min(i, layers % Segments);
  return out;
}

/// Cuts so that no segment costs more than `most`, as far as there are segments enough; the last takes the rest.
template <int Segments, int Layers>
constexpr cuts<Segments> cut_within(const std::int64_t (&cost)[Layers], std::int64_t most) {
  cuts<Segments> out;
  for (int i = 0, layer = 0; i < Segments; out.begin[++i] = layer) {
    const int left = Segments - 1 - i;  // segments after this one, of a layer at least
    for (std::int64_t sum = cost[layer++]; layer < Layers - left; sum += cost[layer++]) {
      if (left > 0 && sum + cost[layer] > most) break;
    }
  }
  return out;
}
template <int Segments, int Layers>
constexpr std::int64_t largest(const std::int64_t (&cost)[Layers], const cuts<Segments>& c) {
  std::int64_t most = 0;
  for (int i = 0; i < Segments; ++i) {
    std::int64_t sum = 0;
    for (int layer = c.begin[i]; layer < c.begin[i + 1]; ++layer) sum += cost[layer];
    most = std::max(most, sum);
  }
  return most;
}
/// The least possible cost of the most costly segment, halving what is left to search.
template <int Segments, int Layers>
constexpr cuts<Segments> cut_by_cost(const std::int64_t (&cost)[Layers]) {
  std::int64_t least = 0, enough = largest(cost, cut_evenly<Segments>(Layers));
  while (least < enough) {
    const std::int64_t middle = least + (enough - least) / 2;
    if (largest(cost, cut_within<Segments>(cost, middle)) <= middle) enough = middle;
    else least = middle + 1;
  }
  return cut_within<Segments>(cost, enough);
}

template <class Layers, int Begin, std::size_t... I>
chain_of<std::tuple_element_t<Begin + I, Layers>...> layers_from(std::index_sequence<I...>);
/// Layers [Begin, End) of a std::tuple.
template <class Layers, int Begin, int End>
using layers_between = decltype(layers_from<Layers, Begin>(std::make_index_sequence<End - Begin>{}));

/// The chain with its segments, all but the last of them checkpointed.
template <auto Cuts, class Layers, class... Policy, int... I>
constexpr auto segmented(std::integer_sequence<int, I...>) {
  constexpr int last = sizeof...(I);
  return joined(
      chain_of<segment_layer<opaque<chain_mark<fixed_string{"sequential."} + digits<I>, I, last, Policy...>>,
                             opaque<chain<opaque<layers_between<Layers, Cuts.begin[I], Cuts.begin[I + 1]>>>>>...>{},
      layers_between<Layers, Cuts.begin[last], Cuts.begin[last + 1]>{});
}
template <auto Cuts, int N, class Layers, class... Policy>
using segments_of_chain = decltype(segmented<Cuts, Layers, Policy...>(std::make_integer_sequence<int, N - 1>{}));

/// Notes what each stage costs, carrying the shape from one to the next.
template <class By, int Level, class Tensor>
struct cost_fold {
  std::int64_t* next;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = call<stage_mark, L, stage_input<Level, Tensor>>;
    *next = By::of(work_of<stage>());
    return cost_fold<By, Level, tensor_of<stage>>{next + 1};
  }
};
/// A chain that is cut where it is applied, for what its layers cost depends on the shape.
template <int N, class By, class Layers, class... Policy>
struct chain_by_cost;
template <int N, class By, class... L, class... Policy>
struct chain_by_cost<N, By, std::tuple<L...>, Policy...> : layer_base {
  template <class X>
  static constexpr auto best = [] {
    std::int64_t cost[sizeof...(L)] = {};
    static_cast<void>((cost_fold<By, X::traits.level, tensor_of<X>>{cost} << ... << std::type_identity<L>{}));
    return cut_by_cost<N>(cost);
  }();
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using whole = decltype(piped_silently<X, chain<opaque<chain_of<L...>>>>(x));
    if constexpr (wrong<whole>) return surfaced<whole>{};
    else return typename piping<X, segments_of_chain<best<X>, N, std::tuple<L...>, Policy...>>::type{};
  }
};

template <class... L>
struct showing<boost::hana::tuple<L...>> {
  using type = fact::layers<sizeof...(L)>;
  using owner = top_scope;
};

/// What ckpt_sequential makes of its arguments; By is void where it counts layers.
template <int N, class By, class Given, class... Policy>
struct sequencing;
template <int N, class By, class... A, class... Policy>
struct sequencing<N, By, std::tuple<A...>, Policy...> {
  using type = mistaken_layer<no_tuple_of_layers, fact::operation<"ckpt_sequential", typename showing<A>::type...>>;
};
template <int N, class By, class... A, class... Policy>
  requires(an_expression<A> || ...)
struct sequencing<N, By, std::tuple<A...>, Policy...> {
  using type = misused<no_tuple_of_layers, "ckpt_sequential", A...>;
};
template <int N, class By, class... L, class... Policy>
struct sequencing<N, By, std::tuple<boost::hana::tuple<L...>>, Policy...> {
  using type = mistaken_layer<segments_without_layers, fact::segments<N>, fact::layers<sizeof...(L)>>;
};
template <int N, class By, class... L, class... Policy>
  requires(N >= 1 && N <= static_cast<int>(sizeof...(L)))
struct sequencing<N, By, std::tuple<boost::hana::tuple<L...>>, Policy...> {
  using type = chain_by_cost<N, By, std::tuple<L...>, Policy...>;
};
template <int N, class... L, class... Policy>
  requires(N >= 1 && N <= static_cast<int>(sizeof...(L)))
struct sequencing<N, void, std::tuple<boost::hana::tuple<L...>>, Policy...> {
  using type = segments_of_chain<cut_evenly<N>(sizeof...(L)), N, std::tuple<L...>, Policy...>;
};

/// The measure among what ckpt_sequential is told, and the policies that are left.
template <int N, class Given, class By, class Policies, class... Said>
struct sorting;
template <int N, class Given, class By, class... Policy>
struct sorting<N, Given, By, std::tuple<Policy...>> : sequencing<N, By, Given, Policy...> {};
template <int N, class Given, class By, class... Policy, class First, class... Rest>
struct sorting<N, Given, By, std::tuple<Policy...>, First, Rest...>
    : sorting<N, Given, By, std::tuple<Policy..., First>, Rest...> {};
template <int N, class Given, class... Policy, a_measure First, class... Rest>
struct sorting<N, Given, void, std::tuple<Policy...>, First, Rest...>
    : sorting<N, Given, First, std::tuple<Policy...>, Rest...> {};
}  // namespace detail

/// A chain of layers in N segments, as torch.utils.checkpoint.checkpoint_sequential: `x |
/// ckpt_sequential<2>(hana::make_tuple(l1, l2, l3))`. They have as many layers, or the first ones one more; or are cut
/// where it costs least: `ckpt_sequential<4, by_bytes>(layers)`. The last is not checkpointed, since backward begins
/// with it. Segments are named `sequential.0` and so on, which prefixes no parameters. What else stands in <...> are
/// policies of ckpt, no boundaries<T>; each must fit one of the segments, and these may be useless, for nobody chose
/// where they end. Rejects: what is no tuple, and N below 1 or above the number of layers.
template <int N, class... Said, class... A>
constexpr typename detail::sorting<N, std::tuple<A...>, void, std::tuple<>, Said...>::type ckpt_sequential(A...) {
  return {};
}

}  // namespace cairn
