// SmallGpt of my_model, imported from PyTorch.
// cairn-import wrote this file. Parameters have the names and the layouts of the PyTorch model.
#pragma once

#include <cairn/cairn.hpp>

namespace small_gpt {

using namespace cairn;

/// Attention of my_model
constexpr auto attention = layer([](auto x) {
  const auto [q, k, v] = split<2, 3>(x | nn::linear<"qkv", 24>);
  return reshape<-1, 6, 8>(nn::attention(reshape<-1, 6, 2, 4>(q), reshape<-1, 6, 2, 4>(k),
      reshape<-1, 6, 2, 4>(v), nn::causal)) | nn::linear<"proj", 8>;
});

/// Block of my_model
constexpr auto block_layer = layer([](auto x) {
  const auto y = x + (x | nn::layer_norm<"ln1"> | block<"attention">(attention));
  return y + (y | nn::layer_norm<"ln2"> | block<"mlp">(nn::linear<"0", 32> | nn::gelu | nn::linear<"2", 8>));
});

/// SmallGpt of my_model
constexpr auto small_gpt = layer([](auto x) {
  return ((x | nn::embedding<"wte", 8>) + param<"wpe.weight", 6, 8>) |
      repeat<3, "blocks">([](auto) { return block_layer; }) | nn::layer_norm<"norm"> |
      nn::tied_linear<"/wte.weight", 13>;
});

constexpr auto text = indices<"text", 13, 2, 6>;
constexpr auto following = indices<"following", 13, 2, 6>;

constexpr auto output = text | small_gpt;
constexpr auto loss = cross_entropy(reshape<-1, 13>(output), reshape<12>(following));

using train_step = program<loss>;

}  // namespace small_gpt
