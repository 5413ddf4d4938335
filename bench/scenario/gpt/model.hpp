#pragma once

#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr int batch = 8, length = 256, width = 256, heads = 8, vocabulary = 256;

constexpr auto mlp = nn::linear<"fc1", 4 * width> | nn::gelu | nn::linear<"fc2", width>;
constexpr auto blocks = repeat<6, "block">([](auto) {
  return ckpt<"block">(nn::residual(nn::layer_norm<"ln_1"> | nn::self_attention<"attn", heads, nn::causal>) |
                       nn::residual(nn::layer_norm<"ln_2"> | mlp));
});
constexpr auto model = blocks | nn::layer_norm<"ln_f"> | nn::tied_linear<"/wte.weight", vocabulary>;
constexpr auto places = arange<length> | nn::embedding<"wpe", width>;
constexpr auto table = nn::embedding<"wte", width>;
/// The loss of some windows of a text.
template <int Windows>
constexpr auto loss_of = cross_entropy(((indices<"tokens", vocabulary, Windows, length> | table) + places) | model,
                                       labels<"next", vocabulary, Windows, length>);
constexpr auto loss = loss_of<batch>;

constexpr adamw_options by_adamw{.lr = 3e-4};
constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto tokens = given.tensor<std::int32_t>("tokens", batch * length);
  const auto next = given.tensor<std::int32_t>("next", batch * length);
  steps_of(bind<"tokens">(tokens), bind<"next">(next));
};

}  // namespace
