// Trains an LSTM on a text, byte by byte: 32 streams of it side by side. Gradients go back 64 steps, and every 16 are a
// segment; states go on, as states of the program. What it writes after each epoch comes from the same parameters by a
// predictor of one byte at a time, which keeps its states in caches.
#include "writing.hpp"

using namespace cairn;

namespace {

using training::letters;

constexpr int batch = 32, length = 64, width = 256, layers = 2;
constexpr nn::recurrent_options stacked{.num_layers = layers};

/// Logits of what follows each byte of a text {N, T}. States {layers, N, width} begin as the last call left them.
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
constexpr auto next_logits = logits<store_all>(indices<"last", letters, 1, 1>, cache<"h", layers, 1, width>,
                                               cache<"c", layers, 1, width>);

constexpr int most_threads = 4;
constexpr adamw_options by_adamw{.weight_decay = 0};
using checkpointed = program<loss<segment_every<16>>, update<by_adamw>, clip<1.0>, training::at_most<most_threads>>;
using unchecked = program<loss<store_all>, update<by_adamw>, clip<1.0>, training::at_most<most_threads>>;

constexpr int steps = 400, judged = 40;  ///< in an epoch; batches to validate with

std::string written_by(checkpointed& step) {
  predictor<next_logits> write{step};
  return training::sample(step.random().from, step.steps(), 256,
                          [&](std::int32_t last, std::int32_t) { return write(bind<"last">(std::array{last})); });
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = training::read(
      argc, argv,
      training::about_text({.name = "lstm",
                            .about = "Trains an LSTM, 16 steps a segment, on a text, and shows what it writes.",
                            .epochs = 5,
                            .lr = 3e-3,
                            .threads = training::cores(most_threads),
                            .warm_up = 50},
                           steps));
  const data::text all = data::read_bytes(given.data);
  const auto [train, validation] = all.split(0.1);
  auto in_order = data::windows<batch, length>(train);
  const auto [x, y, begins] = *in_order.begin();
  training::compare<checkpointed, unchecked>(given, bind<"text">(x), bind<"next">(y));
  const std::int64_t parts = std::max<std::int64_t>(in_order.size() / steps, 1);  // epochs go through the text in order
  checkpointed step;
  training::train(
      step, given, {.steps = steps, .batch = batch, .higher_is_better = false},
      [&](seed, int epoch) {
        return data::windows<batch, length>(train) | std::views::drop(epoch % parts * steps) | std::views::take(steps);
      },
      [](checkpointed& one, double lr, const auto& b) {
        if (b.begins) {
          one.param<"h">().fill(0);
          one.param<"c">().fill(0);
        }
        return one.train({.lr = lr}, bind<"text">(b.inputs), bind<"next">(b.targets));
      },
      [&](checkpointed& one) {
        const double bits = training::bits_a_byte<validation_loss>(
            one, data::windows<batch, length>(validation) | std::views::take(judged));
        std::printf("validation %.3f bits a byte; it writes\n%s\n", bits, written_by(one).c_str());
        return bits;
      },
      bind<"text">(x), bind<"next">(y));
  return 0;
} catch (const std::exception& e) {
  std::cerr << "lstm: " << e.what() << '\n';
  return 1;
}
