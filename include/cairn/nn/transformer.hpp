// Blocks of transformers. They are written in the same way as a user would write them.
#pragma once

#include "cairn/nn/activation.hpp"
#include "cairn/nn/attention.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/nn/norm.hpp"

namespace cairn::nn {

/// Options of a transformer block, with PyTorch's names.
struct transformer_options {
  int dim_feedforward = 0;  ///< number of features between the two linear layers; 0: four times the block's features
  /// Each norm comes before the attention or the linear layers, as in GPT-2. If false, each norm comes after the
  /// residual connection.
  bool norm_first = true;
  bool causal = false;
  int key_heads = 0;  ///< number of heads of keys and values; 0: the number of heads of queries
  /// Probability with which elements are dropped: weights of attention, results of attention, values between the two
  /// linear layers, and results of the linear layers.
  double dropout = 0;
  /// How the weights start, and how those weights start whose results are added to the residual connection:
  /// `self_attn.out_proj.weight` and `linear2.weight`. An unspecified `start_out` is `start`. If `start` is given, an
  /// unspecified `start_bias` is zeros. Without all, the parameters start as in PyTorch.
  initial start = initial::unspecified();
  initial start_out = initial::unspecified();
  initial start_bias = initial::unspecified();

  friend constexpr bool operator==(const transformer_options&, const transformer_options&) = default;
};

namespace detail {
/// The options that say what a block computes, as attention_core.
struct transformer_core {
  int dim_feedforward;
  bool norm_first, causal;
  int key_heads;
  double dropout;
};
constexpr transformer_core core_of(const transformer_options& o) {
  return {o.dim_feedforward, o.norm_first, o.causal, o.key_heads, o.dropout};
}
template <transformer_core Core, initial... Start>
inline constexpr transformer_options transformer_options_of{Core.dim_feedforward, Core.norm_first, Core.causal,
                                                            Core.key_heads,       Core.dropout,    Start...};

template <int Heads, auto Activation, auto OnHeads, transformer_core Core, initial... Start>
struct transformer_block_layer : lang::layer_base {
  static constexpr transformer_options O = transformer_options_of<Core, Start...>;
  static constexpr fixed_string name = "transformer_block", kind = name;
  template <an_expression X, class... More>
  constexpr detail::with_mask<transformer_block_layer, "self_attn", 1, X, More...> operator()(X, More...) const {
    return {};
  }
  template <class X, class... Mask>
  static constexpr auto body(X x, Mask... mask) {
    constexpr attention_options heads{O.causal, O.key_heads, O.dropout,
                                      O.start,  O.start_out, O.start_bias.or_else(initial::zeros())};
    using problem = decltype(detail::problem_of_heads<"transformer_block", "self_attn", Heads, heads>(x));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return problem{};
    } else {
      constexpr int features = X::shape[-1], inner = O.dim_feedforward == 0 ? 4 * features : O.dim_feedforward;
      const auto attend = [&](auto h) {
        return dropped<"dropout1">(self_attention<"self_attn", Heads, heads, OnHeads>(h, mask...));
      };
      const auto feed_forward = [&](auto h) {
        constexpr initial start_out = O.start_out.or_else(O.start);
        const auto hidden = h | linear<"linear1", inner, O.start, O.start_bias> | Activation;
        return dropped<"dropout2">(dropped<"dropout">(hidden) | linear<"linear2", features, start_out, O.start_bias>);
      };
      if constexpr (O.norm_first) {
        const auto y = x + attend(x | layer_norm<"norm1">);
        return y + feed_forward(y | layer_norm<"norm2">);
      } else {
        const auto y = (x + attend(x)) | layer_norm<"norm1">;
        return (y + feed_forward(y)) | layer_norm<"norm2">;
      }
    }
  }

 private:
  template <fixed_string Key>
  static constexpr auto dropped(auto x) {
    if constexpr (O.dropout == 0) return x;
    else return cairn::dropout<Key, O.dropout>(x);
  }
};
template <int Heads, transformer_options O, auto Activation, auto OnHeads>
using transformer_block_of = std::conditional_t<
    O == transformer_options_of<core_of(O)>, transformer_block_layer<Heads, Activation, OnHeads, core_of(O)>,
    transformer_block_layer<Heads, Activation, OnHeads, core_of(O), O.start, O.start_out, O.start_bias>>;

template <fixed_string Name, int Hidden, initial... Start>
struct swiglu_layer : checked_layer<swiglu_layer<Name, Hidden, Start...>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"swiglu", Name>(x); }
  template <class X>
  static constexpr auto apply(X x) {
    const auto gate = x | linear_without_bias<Name + fixed_string{".w1"}, Hidden, Start...> | silu;
    const auto up = x | linear_without_bias<Name + fixed_string{".w3"}, Hidden, Start...>;
    return gate * up | linear_without_bias<Name + fixed_string{".w2"}, X::shape[-1], Start...>;
  }
};
}  // namespace detail

/// Self-attention and two linear layers, each with a norm and a residual connection, on x {N, T, features}. The
/// parameters have the names of nn.TransformerEncoderLayer: `self_attn.in_proj_weight`, `linear1.weight`,
/// `norm1.weight` and so on. The block or repeat around the transformer block prefixes these names:
/// `repeat<6, "layers">([](auto) { return nn::transformer_block<8>; })`.
///
/// A mask may follow x. A mask of truth values is 1 where a query looks at a key, which is the reverse of
/// nn.MultiheadAttention. A mask of keys {N, S} is given as reshape<N, 1, 1, S>(mask).
///
/// Activation is a layer, and OnHeads is the OnHeads of self_attention. In place of options, `nn::causal` alone can be
/// given. PyTorch's defaults are `nn::transformer_block<8, options, nn::relu>` with the options
/// `nn::transformer_options{.dim_feedforward = 2048, .norm_first = false, .dropout = 0.1}`.
///
/// Rejects what self_attention rejects.
template <int Heads, transformer_options O = transformer_options{}, auto Activation = gelu,
          auto OnHeads = detail::same_heads{}>
inline constexpr detail::transformer_block_of<Heads, O, Activation, OnHeads> transformer_block{};

/// Computes `w2(silu(w1(x)) * w3(x))`, where w1, w2 and w3 are linear layers without a bias (Shazeer, 2020). This is
/// the feed-forward layer of Llama. The parameters are `Name.w1.weight` {Hidden, features}, `Name.w3.weight`
/// {Hidden, features} and `Name.w2.weight` {features, Hidden}. Start says how they start, as in nn::linear.
template <fixed_string Name, int Hidden, initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::swiglu_layer<Name, Hidden, Start...> swiglu{};

}  // namespace cairn::nn
