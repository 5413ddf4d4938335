// Attention with the linear layers around it.
#pragma once

#include "cairn/expr/attention.hpp"
#include "cairn/nn/linear.hpp"

namespace cairn::nn {

namespace detail {
/// What is wrong with an argument {N, T, features} of an attention of so many heads, or sound.
template <fixed_string Kind, fixed_string Name, int Heads, attention_options O, class X>
constexpr auto problem_of_heads(X x) {
  using problem = decltype(problem_of_features<Kind, Name>(x));
  constexpr int keys = O.key_heads == 0 ? Heads : O.key_heads;
  if constexpr (!std::same_as<problem, sound>) {
    return problem{};
  } else if constexpr (X::shape.rank != 3 || Heads < 1 || keys < 1 || X::shape[-1] % std::max(Heads, 1) != 0 ||
                       Heads % std::max(keys, 1) != 0) {
    return poison<rule::heads_of_features, typename X::owner, fact::in<Name>, fact::operation<Kind, tensor_fact<X>>,
                  fact::heads<Heads, keys>>{};
  } else {
    return sound{};
  }
}

/// Attention of Heads of queries, in a layer that has the name Name, and the linear layer behind it.
template <fixed_string Name, int Heads, attention_options O>
struct heads {
  static constexpr int keys = O.key_heads == 0 ? Heads : O.key_heads;

  /// {N, T, ...} as {N, T, Count, depth}.
  template <int Count, class X>
  static constexpr auto split(X x) {
    return reshape<X::shape[0], X::shape[1], Count, -1>(x);
  }
  template <class Q, class... Mask>
  static constexpr auto attend(Q q, auto k, auto v, Mask... mask) {
    constexpr int features = Q::shape[2] * Q::shape[3];
    const auto y = [&](auto... causal) {
      if constexpr (O.dropout == 0) return nn::attention(q, k, v, causal..., mask...);
      else return nn::attention<Name + fixed_string{".dropout"}, O.dropout>(q, k, v, causal..., mask...);
    };
    const auto out = [&](auto x) {
      const auto weight = param_from<Name + fixed_string{".out_proj.weight"}, fan_in(features), features, features>;
      const auto bias = param_from<Name + fixed_string{".out_proj.bias"}, initial{}, features>;
      return matmul(reshape<Q::shape[0], Q::shape[1], features>(x), transpose(weight)) + bias;
    };
    if constexpr (O.causal) return out(y(causal));
    else return out(y());
  }
};
}  // namespace detail

template <fixed_string Name, int Heads, attention_options O>
struct self_attention_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X, class... Mask>
    requires(sizeof...(Mask) < 2)
  constexpr auto operator()(X x, Mask... mask) const {
    using problem = decltype(detail::problem_of_heads<"self_attention", Name, Heads, O>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else {
      using heads = detail::heads<Name, Heads, O>;
      constexpr int features = X::shape[-1], keys = features / Heads * heads::keys, rows = features + 2 * keys;
      const auto weight =
          param_from<Name + fixed_string{".in_proj_weight"}, initial::xavier(features, rows), rows, features>;
      const auto bias = param_from<Name + fixed_string{".in_proj_bias"}, initial{}, rows>;
      const auto all = matmul(x, transpose(weight)) + bias;
      const auto y = heads::attend(heads::template split<Heads>(slice<-1, 0, features>(all)),
                                   heads::template split<heads::keys>(slice<-1, features, features + keys>(all)),
                                   heads::template split<heads::keys>(slice<-1, features + keys>(all)), mask...);
      return cairn::detail::result_of_layer<Name>(weight, y);
    }
  }
};

template <fixed_string Name, int Heads, attention_options O>
struct cross_attention_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X, an_expression Memory, class... Mask>
    requires(sizeof...(Mask) < 2)
  constexpr auto operator()(X x, Memory memory, Mask... mask) const {
    using problem = decltype(first_problem(detail::problem_of_heads<"cross_attention", Name, Heads, O>(x),
                                           detail::problem_of_heads<"cross_attention", Name, 1, {}>(memory)));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else {
      using heads = detail::heads<Name, Heads, O>;
      constexpr int features = X::shape[-1], keys = features / Heads * heads::keys;
      const auto [q, k, v] = weights<features, keys, Memory::shape[-1]>();
      const auto bias = param_from<Name + fixed_string{".in_proj_bias"}, initial{}, features + 2 * keys>;
      const auto y = heads::attend(
          heads::template split<Heads>(matmul(x, transpose(q)) + slice<0, 0, features>(bias)),
          heads::template split<heads::keys>(matmul(memory, transpose(k)) + slice<0, features, features + keys>(bias)),
          heads::template split<heads::keys>(matmul(memory, transpose(v)) + slice<0, features + keys>(bias)), mask...);
      return cairn::detail::result_of_layer<Name>(bias, y);
    }
  }

 private:
  /// One tensor where all have as many columns, as in PyTorch.
  template <int Features, int Keys, int OfMemory>
  static constexpr auto weights() {
    if constexpr (Features == OfMemory) {
      constexpr int rows = Features + 2 * Keys;
      const auto all =
          param_from<Name + fixed_string{".in_proj_weight"}, initial::xavier(Features, rows), rows, Features>;
      return std::tuple{slice<0, 0, Features>(all), slice<0, Features, Features + Keys>(all),
                        slice<0, Features + Keys>(all)};
    } else {
      constexpr initial start = initial::xavier(OfMemory, Keys);
      return std::tuple{
          param_from<Name + fixed_string{".q_proj_weight"}, initial::xavier(Features, Features), Features, Features>,
          param_from<Name + fixed_string{".k_proj_weight"}, start, Keys, OfMemory>,
          param_from<Name + fixed_string{".v_proj_weight"}, start, Keys, OfMemory>};
    }
  }
};

/// Attention of x {N, T, features} at itself, with so many heads: `nn::self_attention<"attn", 8, nn::causal>`, or with
/// `nn::attention_options{.causal = true, .key_heads = 2, .dropout = 0.1}`. Names, layouts and initialization are those
/// of nn.MultiheadAttention with batch_first: `Name.in_proj_weight` {3 features, features}, or with less rows where
/// keys and values have fewer heads, `Name.in_proj_bias`, `Name.out_proj.weight`, `Name.out_proj.bias`. A mask may
/// follow x, as in the function attention. A mask is 1 where to look, the reverse of nn.MultiheadAttention's; one of
/// keys {N, S} is reshape<N, 1, 1, S>(mask). Rejects: other than three axes, heads that do not divide the features.
template <fixed_string Name, int Heads, attention_options O = attention_options{}>
inline constexpr self_attention_layer<Name, Heads, O> self_attention{};
/// Attention of x {N, T, features} at a memory {N, S, any features}: `nn::cross_attention<"attn", 8>(x, memory)`. Where
/// the memory has other features, weights are `Name.q_proj_weight`, `k_proj_weight` and `v_proj_weight`, as PyTorch's.
/// A mask may follow: 1 where to look, the reverse of nn.MultiheadAttention's; of keys {N, S} it is
/// reshape<N, 1, 1, S>(mask).
template <fixed_string Name, int Heads, attention_options O = attention_options{}>
inline constexpr cross_attention_layer<Name, Heads, O> cross_attention{};

}  // namespace cairn::nn
