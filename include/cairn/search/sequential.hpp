// Cuts a chain of layers into segments: `ckpt_sequential`.
#pragma once

#include "cairn/graph/work.hpp"
#include "cairn/lang/checkpoint.hpp"

#include <tuple>

// Declared here, so that only users of Boost.Hana include it.
namespace boost::hana {
template <class...>
struct tuple;
}  // namespace boost::hana

namespace cairn {

/// Measures for `ckpt_sequential`, if it does not cut by the number of layers. The cuts minimize the largest cost of a
/// segment's interior. The cost of a cut itself does not count: this is the value between two segments, which is
/// stored.
struct by_bytes {
  static constexpr std::int64_t of(const graphs::stage_work& w) { return w.bytes; }
};
struct by_flops {
  static constexpr std::int64_t of(const graphs::stage_work& w) { return w.flops; }
};
template <class T>
concept a_measure = std::same_as<T, by_bytes> || std::same_as<T, by_flops>;

namespace detail {
/// The cuts of a chain. Segment i has the layers [begin[i], begin[i + 1]).
template <int Segments>
struct cuts {
  int begin[Segments + 1] = {};
};

/// Cuts a chain so that the numbers of layers of two segments differ by at most one.
template <int Segments>
constexpr cuts<Segments> cut_evenly(int layers) {
  cuts<Segments> out;
  for (int i = 0; i <= Segments; ++i) out.begin[i] = i * (layers / Segments) + std::min(i, layers % Segments);
  return out;
}

/// Cuts a chain so that no segment costs more than `most`. If there are too few segments for this, the last segment
/// takes the rest.
template <int Segments, int Layers>
constexpr cuts<Segments> cut_within(const std::int64_t (&cost)[Layers], std::int64_t most) {
  cuts<Segments> out;
  for (int i = 0, layer = 0; i < Segments; out.begin[++i] = layer) {
    const int left = Segments - 1 - i;  // number of segments after this one, each of at least one layer
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
/// Cuts a chain so that the cost of the most costly segment is as small as possible. The search for this cost is a
/// bisection.
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

/// Returns the chain with its segments. All segments except the last are checkpointed.
template <auto Cuts, class Layers, class... Policy, int... I>
constexpr auto segmented(std::integer_sequence<int, I...>) {
  constexpr int last = sizeof...(I);
  return join_layers(
      chain_of<call_layer<opaque<chain_mark<fixed_string{"sequential."} + digits<I>, I, last, Policy...>>,
                          opaque<chain<opaque<layers_between<Layers, Cuts.begin[I], Cuts.begin[I + 1]>>>>>...>{},
      layers_between<Layers, Cuts.begin[last], Cuts.begin[last + 1]>{});
}
template <auto Cuts, int N, class Layers, class... Policy>
using segments_of_chain = decltype(segmented<Cuts, Layers, Policy...>(std::make_integer_sequence<int, N - 1>{}));

/// Notes the cost of each stage, and carries the shape from one stage to the next.
template <class By, int Level, class Tensor>
struct cost_fold {
  std::int64_t* next;
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = call<stage_mark, L, stage_input<Level, Tensor>>;
    *next = By::of(graphs::stage_work_of<stage>());
    return cost_fold<By, Level, tensor_of<stage>>{next + 1};
  }
};
/// A chain that is cut when it is applied, because the costs of its layers depend on the shape of its argument.
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
    using whole = decltype(pipe_form<chain<opaque<chain_of<L...>>>>::of(x));
    if constexpr (wrong<whole>) return surfaced<whole>{};
    else return x | segments_of_chain<best<X>, N, std::tuple<L...>, Policy...>{};
  }
};

}  // namespace detail

template <class... L>
struct lang::showing<std::tuple<L...>> {
  using type = fact::layers<sizeof...(L)>;
  using owner = lang::top_scope;
};
template <class... L>
struct lang::showing<boost::hana::tuple<L...>> : lang::showing<std::tuple<L...>> {};

namespace detail {
/// A tuple of std or of Boost.Hana. The layers in it are empty values, so only its type counts.
template <class T>
struct layers_in;
template <class... L>
struct layers_in<std::tuple<L...>> {
  using type = std::tuple<L...>;
};
template <class... L>
struct layers_in<boost::hana::tuple<L...>> : layers_in<std::tuple<L...>> {};

/// The form of ckpt_sequential. `By` is void if the cuts count layers.
template <int N, class By, class... Policy>
struct sequential_form : free_form<"ckpt_sequential", misuse::no_tuple_of_layers> {
  template <class Tuple, class Layers = typename layers_in<Tuple>::type>
  static constexpr auto of(Tuple) {
    constexpr int count = std::tuple_size_v<Layers>;
    if constexpr (N < 1 || N > count)
      return mistaken_layer<misuse::segments_without_layers, fact::segments<N>, fact::layers<count>>{};
    else if constexpr (!std::is_void_v<By>) return chain_by_cost<N, By, Layers, Policy...>{};
    else return segments_of_chain<cut_evenly<N>(count), N, Layers, Policy...>{};
  }
  /// Without an expression among the arguments, the mistake stands for a layer.
  template <class... A>
    requires((!an_expression<A> && ...) && !(requires { typename layers_in<A>::type; } || ...))
  static constexpr auto of(A...) {
    return mistaken_layer<misuse::no_tuple_of_layers,
                          fact::operation<"ckpt_sequential", typename showing<A>::type...>>{};
  }
};

/// Sorts the template arguments of ckpt_sequential into the measure and the policies.
template <int N, class By, class Policies, class... Said>
struct sorting;
template <int N, class By, class... Policy>
struct sorting<N, By, std::tuple<Policy...>> {
  using form = sequential_form<N, By, Policy...>;
};
template <int N, class By, class... Policy, class First, class... Rest>
struct sorting<N, By, std::tuple<Policy...>, First, Rest...> : sorting<N, By, std::tuple<Policy..., First>, Rest...> {};
template <int N, class... Policy, a_measure First, class... Rest>
struct sorting<N, void, std::tuple<Policy...>, First, Rest...> : sorting<N, First, std::tuple<Policy...>, Rest...> {};
}  // namespace detail

/// Cuts a chain of layers into N segments, as torch.utils.checkpoint.checkpoint_sequential does: `x |
/// ckpt_sequential<2>(std::tuple{l1, l2, l3})`. A tuple of Boost.Hana serves as well.
/// - Without a measure, segments have equally many layers, or the first ones have one more.
/// - With a measure, the chain is cut where the most costly segment costs least: `ckpt_sequential<4,
///   by_bytes>(layers)`.
/// The last segment is not checkpointed, because the backward pass begins with it. Segments are named `sequential.0`
/// and so on; the names do not prefix the names of parameters. Other arguments in <...> are policies of ckpt, except
/// boundaries<T>. Each policy must fit one of the segments. The segments may be useless, because the user did not
/// choose where they end.
/// Rejects an argument that is not a tuple of layers, and N below 1 or above the number of layers.
template <int N, class... Said, class... A>
constexpr lang::applied<typename detail::sorting<N, void, std::tuple<>, Said...>::form, A...> ckpt_sequential(A...) {
  return {};
}

}  // namespace cairn
