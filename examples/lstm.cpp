// Trains an LSTM on a text, byte by byte, with 32 streams of the text next to each other. Gradients go back 64
// iterations, and every 16 iterations are a segment. The LSTM's states continue from one training step to the next, as
// states of the program. After each epoch a predictor writes a sample with the same parameters. The predictor reads
// one byte at a time, and stores its states in caches.
#include "writing.hpp"

using namespace cairn;

namespace {

using training::letters;

constexpr int batch = 32, length = 64, width = 256, layers = 2;
constexpr nn::recurrent_options stacked{.num_layers = layers};

/// Logits of the byte that follows each byte of a text {N, T}. States {layers, N, width} begin with the values that
/// the last call left.
template <class Policy>
constexpr auto logits = [](auto text, auto h, auto c) {
  const auto [ys, last_h, last_c] =
      nn::lstm<"lstm", width, stacked, Policy>(text | nn::embedding<"embed", width>, h, c);
  return updated(updated(ys, h, last_h), c, last_c) | nn::linear<"head", letters>;
};
constexpr auto text = indices<"text", letters, batch, length>;
constexpr auto following = labels<"next", letters, batch, length>;

template <class Policy>
constexpr auto loss = cross_entropy(
    logits<Policy>(text, state<"h", initial{}, layers, batch, width>, state<"c", initial{}, layers, batch, width>),
    following);
constexpr auto validation_loss = cross_entropy(
    logits<store_all>(text, cache<"h", layers, batch, width>, cache<"c", layers, batch, width>), following);
constexpr auto next_logits =
    logits<store_all>(indices<"last", letters, 1, 1>, cache<"h", layers, 1, width>, cache<"c", layers, 1, width>);

constexpr int most_threads = 4;
template <class Policy>
using step_with =
    program<loss<Policy>, update<adamw_options{.weight_decay = 0}>, clip<1.0>, training::at_most<most_threads>>;
using train_step = step_with<segment_every<16>>;
using plain_step = step_with<store_all>;  // the option `plain` does not change scans

/// Writes a sample with the parameters of a program or of a file.
constexpr auto written_by = [](auto& parameters, const training::beginning& begin) {
  predictor<next_logits> write{parameters};
  return training::sample(begin, 256,
                          [&](std::int32_t last, std::int32_t) { return write(bind<"last">(std::array{last})); });
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int steps = 400;
  return training::learn_to_write<validation_loss, train_step, plain_step, batch, length>(
      argc, argv,
      {.name = "lstm",
       .about = "Trains an LSTM on a text, with 16 iterations in a segment, and shows what it writes.",
       .epochs = 5,
       .lr = 3e-3,
       .threads = training::cores(most_threads),
       .warm_up = 50},
      steps,
      // Epochs go through the text in order, in equal parts, and start again at the end.
      [](auto train, seed, int epoch) {
        auto in_order = data::windows<batch, length>(train);
        const std::int64_t parts = (in_order.size() + steps - 1) / steps, each = (in_order.size() + parts - 1) / parts;
        return std::move(in_order) | std::views::drop(epoch % parts * each) | std::views::take(each);
      },
      [](train_step& step, const auto& batch_of_text) {
        if (!batch_of_text.begins) return;
        step.param<"h">().fill(0);
        step.param<"c">().fill(0);
      },
      written_by);
}
