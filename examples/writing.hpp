// What the programs share that learn to write: a text of bytes, how well the next one is foretold, and a sample of what
// they write.
#pragma once

#include <cairn/data/draw.hpp>
#include <cairn/data/text.hpp>
#include <cairn/data/windows.hpp>
#include <numbers>
#include <ranges>

#include "training.hpp"

namespace training {

constexpr int letters = 256;  ///< each byte is a token

/// Arguments of such a program: an epoch is so many steps.
inline arguments about_text(arguments given, int steps) {
  given.data = "bible.txt";
  given.data_is = "FILE";
  given.about_data = "any text, such as Debian's of `bible -f gen1:1-rev22:21`";
  given.about_epochs = "so often " + std::to_string(steps) + " steps, a validation and a sample";
  return given;
}

/// The mean of a loss over batches of windows, in bits a byte.
template <auto Loss>
double bits_a_byte(auto& step, auto&& batches) {
  predictor<Loss> loss{step};
  double sum = 0;
  int count = 0;
  for (auto [x, y, begins] : batches) {
    sum += static_cast<double>(loss(bind<"text">(x), bind<"next">(y)));
    ++count;
  }
  return sum / count / std::numbers::ln2;
}

/// What a predictor writes after a line break, byte by byte: next(token, position) gives the logits of the byte behind.
/// The same for equal seeds, steps and parameters.
std::string sample(seed s, std::int64_t steps, int length, auto next) {
  // Windows are drawn from the sequences epoch << 32 | batch of this seed, from 0 on. Samples count down from
  // the last one, for none shall be drawn by the numbers that are the places of windows.
  random_sequence random(s, ~static_cast<std::uint64_t>(steps));
  std::vector<std::int32_t> written{'\n'};
  for (int i = 0; i < length; ++i)
    written.push_back(data::draw(next(written.back(), i), {.temperature = 0.8, .top_k = 40}, random));
  return data::vocabulary::bytes().decode(std::span(written).subspan(1));
}

/// The program of a model that learns to write: compares Step and Plain, trains, and after each epoch says how well it
/// foretells the end of the text, by ValidationLoss, and what `written_by(step)` writes. `batches(tokens, seed, epoch)`
/// are those of an epoch, windows of Batch x Length; `prepare(step, batch)` comes before each.
template <auto ValidationLoss, class Step, class Plain, int Batch, int Length>
int learn_to_write(int argc, char** argv, const arguments& defaults, int steps, auto batches, auto prepare,
                   auto written_by) try {
  constexpr int judged = 40;  // batches
  const arguments given = read(argc, argv, about_text(defaults, steps));
  const data::text text = data::read_bytes(given.data);
  const auto [train_text, validation] = text.split(0.1);
  auto some = data::windows<Batch, Length>(validation);
  const auto [x, y, begins] = *some.begin();
  compare<Step, Plain>(given, bind<"text">(x), bind<"next">(y));
  Step step;
  train(
      step, given, {.steps = steps, .batch = Batch, .higher_is_better = false},
      [&](seed s, int epoch) { return batches(train_text, s, epoch) | std::views::take(steps); },
      [&](Step& one, double lr, const auto& b) {
        prepare(one, b);
        return one.train({.lr = lr}, bind<"text">(b.inputs), bind<"next">(b.targets));
      },
      [&](Step& one) {
        const double bits = bits_a_byte<ValidationLoss>(
            one, data::windows<Batch, Length>(validation) | std::views::take(judged));
        std::printf("validation %.3f bits a byte; it writes\n%s\n", bits, written_by(one).c_str());
        return bits;
      },
      bind<"text">(x), bind<"next">(y));
  return 0;
} catch (const std::exception& e) {
  std::cerr << defaults.name << ": " << e.what() << '\n';
  return 1;
}

}  // namespace training
