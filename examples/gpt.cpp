// Trains a GPT on a text, byte by byte. The GPT has six blocks, and each block is a segment. After each epoch a second
// model writes a sample with the same parameters. The second model reads one byte at a time, and stores the keys and
// values of earlier bytes in caches.
#include "writing.hpp"

using namespace cairn;

namespace {

using training::letters;

constexpr int batch = 8, length = 256, width = 256, heads = 8, depth = width / heads, blocks = 6;

/// Attention of each row to itself and the rows before, for arguments {N, T, heads, depth}.
constexpr auto among_all = [](auto q, auto k, auto v) { return nn::attention(q, k, v, nn::causal); };
/// Attention of the next row alone to the rows in the caches.
constexpr auto at = indices<"at", length, 1>;
constexpr auto among_kept = [](auto q, auto k, auto v) {
  constexpr auto keys = cache<"keys", 1, length, heads, depth>;
  constexpr auto values = cache<"values", 1, length, heads, depth>;
  const auto all_keys = placed<1>(keys, at, k);
  const auto all_values = placed<1>(values, at, v);
  const auto found = nn::attention(q, all_keys, all_values, arange<length> <= at);
  return updated(updated(found, keys, all_keys), values, all_values);
};

/// With among_all, the block computes the same as nn::transformer_block<heads, nn::transformer_options{.causal =
/// true}>. Its parameters have other names, and all of them start as the parameters of nn::linear do.
template <auto Find>
constexpr auto self_attention = layer([](auto x) {
  const auto [q, k, v] = split<-1, 3>(x | nn::linear<"qkv", 3 * width>);
  const auto by_heads = [](auto y) { return reshape<y.shape[0], y.shape[1], heads, depth>(y); };
  const auto found = Find(by_heads(q), by_heads(k), by_heads(v));
  return reshape<x.shape[0], x.shape[1], width>(found) | nn::linear<"proj", width>;
});
constexpr auto feed_forward = nn::linear<"fc1", 4 * width> | nn::gelu | nn::linear<"fc2", width>;
template <auto Find>
constexpr auto transformer =
    nn::residual(nn::layer_norm<"ln1"> | self_attention<Find>) | nn::residual(nn::layer_norm<"ln2"> | feed_forward);
constexpr auto reads = repeat<blocks, "block">([](auto) { return ckpt<"block">(transformer<among_all>); });
constexpr auto writes = repeat<blocks, "block">([](auto) { return transformer<among_kept>; });

/// The head shares its weights with the embedding of the letters.
constexpr auto logits(auto model, auto text, auto positions) {
  constexpr nn::embedding_options start{.start = initial::normal(0.02)};
  const auto of_text = text | nn::embedding<"wte", width, start>;
  const auto embedded = of_text + (positions | nn::embedding<"wpe", width, start>);
  return embedded | model | nn::layer_norm<"ln"> | nn::tied_linear<"/wte.weight", letters>;
}

constexpr auto loss = cross_entropy(logits(reads, indices<"text", letters, batch, length>, arange<length>),
                                    labels<"next", letters, batch, length>);
constexpr auto next_logits = logits(writes, indices<"last", letters, 1, 1>, at);

constexpr int most_threads = 4;
template <class... Options>
using step_with = program<loss, update<adamw_options{.beta2 = 0.99, .weight_decay = 0.1}>,
                          training::at_most<most_threads>, Options...>;
using train_step = step_with<>;
using plain_step = step_with<plain>;

/// Writes a sample with the parameters of a program or of a file.
constexpr auto written_by = [](auto& parameters, const training::beginning& begin) {
  predictor<next_logits> write{parameters};
  return training::sample(begin, length, [&](std::int32_t last, std::int32_t position) {
    return write(bind<"last">(std::array{last}), bind<"at">(std::array{position}));
  });
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int steps = 200;
  return training::learn_to_write<loss, train_step, plain_step, batch, length>(
      argc, argv,
      {.name = "gpt",
       .about = "Trains a GPT of 6 checkpointed blocks on a text, and shows what it writes.",
       .epochs = 5,
       .lr = 1e-3,
       .threads = training::cores(most_threads),
       .warm_up = 100},
      steps, [](auto train, seed s, int epoch) { return data::windows<batch, length>(train, s, epoch); },
      [](train_step&, const auto&) {}, written_by);
}
