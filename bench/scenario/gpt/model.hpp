#pragma once

#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr int batch = 8, length = 256, width = 256, heads = 8, vocabulary = 256;

constexpr auto self_attention = layer([](auto x) {
  const auto projected = matmul(x, transpose(param<"attn.in_proj_weight", 3 * width, width>)) +
                         param<"attn.in_proj_bias", 3 * width>;
  const auto [q, k, v] = split<-1, 3>(projected);
  const auto by_heads = [](auto y) { return reshape<batch, length, heads, -1>(y); };
  const auto mixed = nn::attention(by_heads(q), by_heads(k), by_heads(v), nn::causal);
  return reshape<batch, length, width>(mixed) | nn::linear<"attn.out_proj", width>;
});
constexpr auto mlp = nn::linear<"fc1", 4 * width> | nn::gelu | nn::linear<"fc2", width>;
constexpr auto blocks = repeat<6, "block">([](auto) {
  return ckpt<"block">(nn::residual(nn::layer_norm<"ln_1"> | self_attention) |
                       nn::residual(nn::layer_norm<"ln_2"> | mlp));
});
constexpr auto table = param<"wte.weight", vocabulary, width>;
constexpr auto embedded =
    gather<0>(table, indices<"tokens", vocabulary, batch, length>) + param<"wpe.weight", length, width>;
constexpr auto logits = matmul(embedded | blocks | nn::layer_norm<"ln_f">, transpose(table));
constexpr auto loss = cross_entropy(logits, labels<"next", vocabulary, batch, length>);

constexpr adamw_options by_adamw{.lr = 3e-4};
constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto tokens = given.tensor<std::int32_t>("tokens", batch * length);
  const auto next = given.tensor<std::int32_t>("next", batch * length);
  steps_of(bind<"tokens">(tokens), bind<"next">(next));
};

}  // namespace
