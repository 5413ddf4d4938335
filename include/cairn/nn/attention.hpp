// Attention layers: attention with the linear layers before and after it.
#pragma once

#include "cairn/nn/linear.hpp"
#include "cairn/op/attention.hpp"

namespace cairn::nn {

/// Options of a layer of attention, in addition to its number of heads.
struct attention_options {
  bool causal = false;
  /// Number of heads of keys and values. Each is shared by equally many heads of queries. 0: each head of queries has
  /// its own head of keys and values.
  int key_heads = 0;
  double dropout = 0;  ///< probability with which a weight is dropped
  /// How the weights start before the attention, and how the weight of `out_proj` starts after it. An unspecified
  /// `start_out` is `start`. Without both, the weights start as in PyTorch.
  initial start = initial::unspecified();
  initial start_out = initial::unspecified();
  initial start_bias = initial::zeros();

  friend constexpr bool operator==(const attention_options&, const attention_options&) = default;
};

namespace detail {
/// The options that say what an attention computes. The layer's type has these, and the starts only if they are given,
/// so that messages stay short.
struct attention_core {
  bool causal;
  int key_heads;
  double dropout;
};
constexpr attention_core core_of(const attention_options& o) { return {o.causal, o.key_heads, o.dropout}; }
template <attention_core Core, initial... Start>
inline constexpr attention_options attention_options_of{Core.causal, Core.key_heads, Core.dropout, Start...};
template <attention_options O>
inline constexpr bool says_start = O != attention_options_of<core_of(O)>;

/// Returns what is wrong with an argument {N, T, features} of an attention with Heads heads, or sound if nothing is
/// wrong.
template <fixed_string Kind, fixed_string Name, int Heads, attention_options O, class X>
constexpr auto problem_of_heads(X x) {
  using problem = decltype(problem_of_features<Kind, Name>(x));
  constexpr int keys = O.key_heads == 0 ? Heads : O.key_heads;
  if constexpr (!std::same_as<problem, lang::sound>) {
    return problem{};
  } else if constexpr (X::shape.rank != 3 || Heads < 1 || keys < 1 || X::shape[-1] % std::max(Heads, 1) != 0 ||
                       Heads % std::max(keys, 1) != 0) {
    return lang::poison<misuse::heads_of_features, typename X::owner, fact::in<Name>,
                        fact::operation<Kind, lang::tensor_fact<X>>, fact::heads<Heads, keys>>{};
  } else if constexpr (!(O.dropout >= 0 && O.dropout < 1)) {
    return lang::poison<misuse::probability_below_one, typename X::owner, fact::in<Name>,
                        fact::operation<Kind, lang::tensor_fact<X>>, fact::probability<O.dropout>>{};
  } else {
    return lang::sound{};
  }
}

/// Default of OnHeads: queries, keys and values stay as the linear layers make them.
struct same_heads {};

/// Attention with Heads heads of queries in the layer called Name, followed by the linear layer that projects the
/// result.
template <fixed_string Name, int Heads, attention_options O, auto OnHeads = same_heads{}>
struct attention_heads {
  static constexpr int key_heads = O.key_heads == 0 ? Heads : O.key_heads;
  using on_heads = std::remove_const_t<decltype(OnHeads)>;
  static constexpr bool has_default_heads = std::same_as<on_heads, same_heads>;

  /// Returns what is wrong with a mask for x and memory, {N, T, features} each, or sound if nothing is wrong. If
  /// OnHeads replaces the keys, the shape of the mask is not checked here.
  template <fixed_string Kind, class X, class Memory, class Mask>
  static constexpr auto problem_of_mask(X, Memory, Mask mask) {
    using owner = lang::owner_of<X, Memory, Mask>;
    using what = fact::operation<Kind, lang::tensor_fact<X>, lang::tensor_fact<Mask>>;
    constexpr shape scores{X::shape[0], Heads, X::shape[1], Memory::shape[1]};
    constexpr int bound = Mask::element.bound;
    if constexpr (lang::wrong<Mask>) {
      return mask;
    } else if constexpr (has_default_heads && broadcast(Mask::shape, scores) != scores) {
      return lang::poison<misuse::mask_of_scores, owner, fact::in<Name>, what,
                          fact::extents<scores[0], scores[1], scores[2], scores[3]>>{};
    } else if constexpr (kind_of(Mask::element.type) == kind::whole && (bound < 1 || bound > 2)) {
      return lang::poison<misuse::bound_above_extent, owner, fact::in<Name>, what, fact::bound<bound>>{};
    } else {
      return lang::sound{};
    }
  }
  /// Reshapes {N, T, ...} to {N, T, Count, depth}.
  template <int Count, class X>
  static constexpr auto split(X x) {
    return reshape<X::shape[0], X::shape[1], Count, -1>(x);
  }
  template <class Q, class K, class V, class... Mask>
  static constexpr auto attend(Q q, K k, V v, Mask... mask) {
    const auto attend_to = [&](auto... of_heads) {
      const auto y = [&](auto... causal) {
        if constexpr (O.dropout == 0) return nn::attention(of_heads..., causal..., mask...);
        else return nn::attention<Name + fixed_string{".dropout"}, O.dropout>(of_heads..., causal..., mask...);
      };
      if constexpr (O.causal) return project(y(causal));
      else return project(y());
    };
    if constexpr (has_default_heads) return attend_to(q, k, v);
    else
      return std::apply(attend_to, typename lang::as_tuple<lang::called<lang::stage_mark, on_heads, Q, K, V>>::type{});
  }

 private:
  /// Projects the result of attention. If the result is a mistake, adds the name of the layer to it, because the
  /// mistake itself names only the function.
  template <class X>
  static constexpr auto project(X x) {
    if constexpr (lang::wrong<X>) {
      return lang::leave_call<lang::block_mark<Name>, typename X::owner>(x);
    } else {
      constexpr int features = X::shape[2] * X::shape[3];
      constexpr initial start = O.start_out.or_else(O.start).or_else(fan_in(features));
      const auto weight = param_from<Name + fixed_string{".out_proj.weight"}, start, features, features>;
      const auto bias = param_from<Name + fixed_string{".out_proj.bias"}, O.start_bias, features>;
      return matmul(reshape<X::shape[0], X::shape[1], features>(x), transpose(weight)) + bias;
    }
  }
};

/// Returns what is wrong with a memory that belongs to x, or sound if nothing is wrong.
template <fixed_string Kind, fixed_string Name, class X, class Memory>
constexpr auto problem_of_memory(X, Memory memory) {
  using what = fact::operation<Kind, lang::tensor_fact<X>, lang::tensor_fact<Memory>>;
  using problem = decltype(problem_of_heads<Kind, Name, 1, attention_options{}>(memory));
  if constexpr (!std::same_as<problem, lang::sound>) return problem{};
  else if constexpr (X::shape[0] == Memory::shape[0]) return lang::sound{};
  else return lang::poison<misuse::queries_keys_values, lang::owner_of<X, Memory>, fact::in<Name>, what>{};
}

/// Applies an attention layer to Values values and at most one mask. Outside of bodies, the application is a call with
/// a body of its own. A mistake in this body is then reported where the layer is called.
template <class Layer, fixed_string Name, int Values, class... A>
constexpr auto applied_with_mask(A... args) {
  constexpr int count = sizeof...(A);
  if constexpr (!(an_expression<A> && ...) || count < Values || count > Values + 1)
    return lang::leave_call<lang::block_mark<Name>, lang::owner_of<lang::showing<A>...>>(
        lang::mistaken_call<misuse::one_mask, Layer::kind, A...>());
  else if constexpr (std::same_as<lang::owner_of<A...>, lang::top_scope>)
    return lang::call_form<lang::stage_mark, Layer>::of(args...);
  else return Layer::body(args...);
}
template <class Layer, fixed_string Name, int Values, class... A>
using with_mask = lang::surfaced<decltype(applied_with_mask<Layer, Name, Values>(std::declval<A>()...))>;

template <fixed_string Name, int Heads, auto OnHeads, attention_core Core, initial... Start>
struct self_attention_layer : lang::layer_base {
  static constexpr attention_options O = attention_options_of<Core, Start...>;
  static constexpr auto name = Name;
  static constexpr fixed_string kind = "self_attention";
  template <an_expression X, class... More>
  constexpr detail::with_mask<self_attention_layer, Name, 1, X, More...> operator()(X, More...) const {
    return {};
  }
  template <class X, class... Mask>
  static constexpr auto body(X x, Mask... mask) {
    using heads = detail::attention_heads<Name, Heads, O, OnHeads>;
    using problem = decltype(lang::first_problem(detail::problem_of_heads<kind, Name, Heads, O>(x),
                                                 heads::template problem_of_mask<kind>(x, x, mask)...));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return problem{};
    } else {
      constexpr int features = X::shape[-1], keys = features / Heads * heads::key_heads, rows = features + 2 * keys;
      const auto weight =
          param_from<Name + fixed_string{".in_proj_weight"}, O.start.or_else(initial::xavier()), rows, features>;
      const auto bias = param_from<Name + fixed_string{".in_proj_bias"}, O.start_bias, rows>;
      const auto all = matmul(x, transpose(weight)) + bias;
      const auto y = heads::attend(heads::template split<Heads>(slice<-1, 0, features>(all)),
                                   heads::template split<heads::key_heads>(slice<-1, features, features + keys>(all)),
                                   heads::template split<heads::key_heads>(slice<-1, features + keys>(all)), mask...);
      return lang::result_of_layer<Name>(weight, y);
    }
  }
};

template <fixed_string Name, int Heads, attention_core Core, initial... Start>
struct cross_attention_layer : lang::layer_base {
  static constexpr attention_options O = attention_options_of<Core, Start...>;
  static constexpr auto name = Name;
  static constexpr fixed_string kind = "cross_attention";
  template <an_expression X, class... More>
  constexpr detail::with_mask<cross_attention_layer, Name, 2, X, More...> operator()(X, More...) const {
    return {};
  }
  template <class X, class Memory, class... Mask>
  static constexpr auto body(X x, Memory memory, Mask... mask) {
    using heads = detail::attention_heads<Name, Heads, O>;
    using problem = decltype(lang::first_problem(detail::problem_of_heads<kind, Name, Heads, O>(x),
                                                 detail::problem_of_memory<kind, Name>(x, memory),
                                                 heads::template problem_of_mask<kind>(x, memory, mask)...));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return problem{};
    } else {
      constexpr int features = X::shape[-1], keys = features / Heads * heads::key_heads;
      const auto [q, k, v] = weights<features, keys, Memory::shape[-1]>();
      const auto bias = param_from<Name + fixed_string{".in_proj_bias"}, O.start_bias, features + 2 * keys>;
      const auto y = heads::attend(
          heads::template split<Heads>(matmul(x, transpose(q)) + slice<0, 0, features>(bias)),
          heads::template split<heads::key_heads>(matmul(memory, transpose(k)) +
                                                  slice<0, features, features + keys>(bias)),
          heads::template split<heads::key_heads>(matmul(memory, transpose(v)) + slice<0, features + keys>(bias)),
          mask...);
      return lang::result_of_layer<Name>(bias, y);
    }
  }

 private:
  /// Returns the weights of queries, keys and values. If x and memory have equally many features, the weights are
  /// slices of one tensor, as in PyTorch.
  template <int Features, int Keys, int OfMemory>
  static constexpr auto weights() {
    constexpr initial start = O.start.or_else(initial::xavier());
    if constexpr (Features == OfMemory) {
      const auto all = param_from<Name + fixed_string{".in_proj_weight"}, start, Features + 2 * Keys, Features>;
      return std::tuple{slice<0, 0, Features>(all), slice<0, Features, Features + Keys>(all),
                        slice<0, Features + Keys>(all)};
    } else {
      return std::tuple{param_from<Name + fixed_string{".q_proj_weight"}, start, Features, Features>,
                        param_from<Name + fixed_string{".k_proj_weight"}, start, Keys, OfMemory>,
                        param_from<Name + fixed_string{".v_proj_weight"}, start, Keys, OfMemory>};
    }
  }
};

template <fixed_string Name, int Heads, attention_options O, auto OnHeads>
using self_attention_of =
    std::conditional_t<says_start<O>,
                       self_attention_layer<Name, Heads, OnHeads, core_of(O), O.start, O.start_out, O.start_bias>,
                       self_attention_layer<Name, Heads, OnHeads, core_of(O)>>;
template <fixed_string Name, int Heads, attention_options O>
using cross_attention_of =
    std::conditional_t<says_start<O>,
                       cross_attention_layer<Name, Heads, core_of(O), O.start, O.start_out, O.start_bias>,
                       cross_attention_layer<Name, Heads, core_of(O)>>;
}  // namespace detail

/// Self-attention of x {N, T, features} with Heads heads: `nn::self_attention<"attn", 8, nn::causal>`. Options can be
/// given instead of `nn::causal`: `nn::attention_options{.causal = true, .key_heads = 2, .dropout = 0.1}`. The options
/// `.start`, `.start_out` and `.start_bias` say how the parameters start.
///
/// Parameters have the names, layouts and initialization of nn.MultiheadAttention with batch_first:
/// `Name.in_proj_weight` {3 features, features}, `Name.in_proj_bias`, `Name.out_proj.weight` and `Name.out_proj.bias`.
/// If keys and values have fewer heads than queries, `Name.in_proj_weight` and `Name.in_proj_bias` have fewer rows.
///
/// A mask may follow x, as in the function attention. A mask of truth values is 1 where a query looks at a key, which
/// is the reverse of nn.MultiheadAttention. A mask of keys {N, S} is given as reshape<N, 1, 1, S>(mask).
///
/// OnHeads is a function of queries {N, T, Heads, D} and of keys and values {N, T, key heads, D}. It returns a
/// std::tuple of the arguments that attention takes instead. The tuple may contain a mask too. OnHeads can rotate
/// queries and keys by their positions, or add keys and values to caches.
///
/// Rejects:
/// - an x that does not have three axes
/// - heads that do not divide the features, or key heads that do not divide the heads
/// - a mask that does not broadcast to {N, Heads, T, T}, unless there is an OnHeads
/// - a dropout outside of [0, 1)
template <fixed_string Name, int Heads, attention_options O = attention_options{}, auto OnHeads = detail::same_heads{}>
inline constexpr detail::self_attention_of<Name, Heads, O, OnHeads> self_attention{};
/// Cross-attention of x {N, T, features} to a memory {N, S, any features}: `nn::cross_attention<"attn", 8>(x, memory)`.
/// If the memory has another number of features than x, the weights are `Name.q_proj_weight`, `Name.k_proj_weight` and
/// `Name.v_proj_weight`, as in PyTorch.
///
/// A mask may follow. A mask of truth values is 1 where a query looks at a key, which is the reverse of
/// nn.MultiheadAttention. A mask of keys {N, S} is given as reshape<N, 1, 1, S>(mask).
///
/// Rejects: what self_attention rejects; a memory with another N than x.
template <fixed_string Name, int Heads, attention_options O = attention_options{}>
inline constexpr detail::cross_attention_of<Name, Heads, O> cross_attention{};

}  // namespace cairn::nn
