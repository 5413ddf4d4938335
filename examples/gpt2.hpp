// GPT-2 with 124 million parameters (Radford et al., Language Models are Unsupervised Multitask Learners, 2019). All
// parameters have the names and the layouts of Hugging Face's file, so weights of that file can be loaded.
#pragma once

#include <cairn/cairn.hpp>

namespace gpt2 {

using namespace cairn;

constexpr int blocks = 12, width = 768, heads = 12, positions = 1024;
constexpr int tokens = 50257;  ///< number of GPT-2's tokens

// The initial values of GPT-2's code, gpt-2/src/model.py. Biases start as zeros.
constexpr initial start = initial::normal(0.02), start_of_positions = initial::normal(0.01);
/// The residual stream is the sum of the results of 2 blocks layers. Therefore the weights of these layers start
/// smaller, by 1 / sqrt(2 blocks).
constexpr initial residual_start = initial::normal(0.02 / 4.898979485566356);
static_assert(blocks == 12, "4.898979485566356 is the square root of 24");

/// Computes x W + b, where W is {in, Out}. This is Hugging Face's Conv1D. The weight of nn::linear is its transpose.
template <int Out, initial Start = start>
constexpr auto conv1d = layer([](auto x) {
  return matmul(x, param_from<"weight", Start, x.shape[-1], Out>) + param_from<"bias", initial{}, Out>;
});

/// The approximation of gelu by tanh with which GPT-2 was trained (Hendrycks and Gimpel, 2016). It is a segment of its
/// own inside each block, so that the block's backward pass does not hold five more arrays of the size of x.
constexpr auto gelu_by_tanh = ckpt<"gelu">(layer([](auto x) {
  return 0.5_c * x * (1_c + tanh(constant<0.7978845608028654> * (x + 0.044715_c * x * x * x)));  // sqrt(2 / pi)
}));

constexpr auto self_attention = layer([](auto x) {
  const auto [q, k, v] = split<-1, 3>(x | block<"c_attn">(conv1d<3 * width>));
  const auto by_heads = [](auto y) { return reshape<y.shape[0], y.shape[1], heads, width / heads>(y); };
  const auto y = nn::attention(by_heads(q), by_heads(k), by_heads(v), nn::causal);
  return reshape<x.shape[0], x.shape[1], width>(y) | block<"c_proj">(conv1d<width, residual_start>);
});
constexpr auto feed_forward =
    block<"c_fc">(conv1d<4 * width>) | gelu_by_tanh | block<"c_proj">(conv1d<width, residual_start>);
constexpr auto transformer = nn::residual(nn::layer_norm<"ln_1"> | block<"attn">(self_attention)) |
                             nn::residual(nn::layer_norm<"ln_2"> | block<"mlp">(feed_forward));
/// Each block is a segment. The option `plain` of a program removes the segments.
constexpr auto trunk = repeat<blocks, "h">([](auto) { return ckpt<"block">(transformer); });

/// The loss of x {Batch, Length, width}. The head reads the table of the tokens.
template <int Vocabulary>
constexpr auto head =
    [](auto x, auto next) { return cross_entropy(x | nn::tied_linear<"/wte.weight", Vocabulary>, next); };
/// The same loss, whose logits are never stored.
template <int Vocabulary>
constexpr auto head_without_logits = nn::tied_linear_cross_entropy<"/wte.weight", Vocabulary>;

/// Mean loss in nats of a batch of windows, where each token is predicted from the tokens before it.
template <int Vocabulary, int Batch, int Length, auto Head = head<Vocabulary>, auto Trunk = trunk>
constexpr auto loss = [] {
  const auto text = indices<"text", Vocabulary, Batch, Length>;
  const auto of_text = text | nn::embedding<"wte", width, nn::embedding_options{.start = start}>;
  const auto of_positions = gather<0>(param_from<"wpe.weight", start_of_positions, positions, width>, arange<Length>);
  const auto x = (of_text + of_positions) | Trunk | nn::layer_norm<"ln_f">;
  return Head(x, labels<"next", Vocabulary, Batch, Length>);
}();

}  // namespace gpt2
