// The common part of the programs that learn to write: the text as bytes, the loss in bits for each byte, and a sample
// of writing.
#pragma once

#include <cairn/data/draw.hpp>
#include <cairn/data/text.hpp>
#include <cairn/data/windows.hpp>
#include <numbers>
#include <ranges>

#include "training.hpp"

namespace training {

constexpr int letters = 256;  ///< each byte is a token

/// Returns the arguments of a program that learns to write. An epoch has at most `steps` training steps.
inline arguments about_text(arguments given, int steps) {
  given.writes = true;
  given.data = "bible.txt";
  given.data_is = "FILE";
  given.about_data = "any text, such as Debian's of `bible -f gen1:1-rev22:21`";
  given.about_epochs =
      "number of epochs; each has up to " + std::to_string(steps) + " steps, a validation and a sample";
  return given;
}

/// Returns the mean of a loss over batches of windows, in bits per byte.
template <auto Loss>
double bits_a_byte(auto& step, auto&& batches) {
  predictor<Loss> loss{step};
  sample_mean nats;
  for (auto [x, y, begins] : batches) nats.add(loss(bind<"text">(x), bind<"next">(y)));
  return nats.value() / std::numbers::ln2;
}

/// The prompt of a sample, and the seed and the training step on which its random numbers depend.
struct beginning {
  seed from;
  std::int64_t steps = 0;
  std::string prompt = {};
};

/// Returns the text that a predictor writes after a line break and the prompt, byte by byte, until the predictor has
/// read `length` bytes. `next(token, position)` returns the logits of the next byte. Equal beginnings and equal
/// parameters give equal samples.
std::string sample(const beginning& begin, int length, auto next) {
  if (std::ssize(begin.prompt) >= length)
    throw std::runtime_error("a prompt may have at most " + std::to_string(length - 1) + " bytes");
  // Windows are drawn from the random sequences with the numbers epoch << 32 | batch of this seed, from 0 on. Samples
  // use the sequences from the largest number downwards, so that a sample never uses the random numbers of a window.
  random_sequence random(begin.from, ~static_cast<std::uint64_t>(begin.steps));
  const auto known = data::vocabulary::bytes();
  std::vector<std::int32_t> written = known.encode('\n' + begin.prompt);
  for (int i = 0; i < length; ++i) {
    const auto logits = next(written[static_cast<std::size_t>(i)], i);
    if (i + 1 == std::ssize(written)) written.push_back(data::draw(logits, {.temperature = 0.8, .top_k = 40}, random));
  }
  return known.decode(std::span(written).subspan(1));
}

/// The main function of a program that learns to write. It compares Step with Plain and trains. After each epoch it
/// prints ValidationLoss for a part of the last tenth of the text, and the sample that `written_by(step, beginning)`
/// returns. `batches(tokens, seed, epoch)` returns the batches of an epoch, as windows of Batch x Length. At most
/// `steps` of these batches are used. `prepare(step, batch)` is called before each training step. With a prompt the
/// program does not train, and only writes a sample with the parameters of a file.
template <auto ValidationLoss, class Step, class Plain, int Batch, int Length>
int learn_to_write(int argc, char** argv, const arguments& defaults, int steps, auto batches, auto prepare,
                   auto written_by) try {
  constexpr int judged = 40;  // number of batches
  const arguments given = read(argc, argv, about_text(defaults, steps));
  if (given.prompt) {
    const std::string weights = cairn::train::run_folder(given.run).best();
    std::cout << written_by(weights, beginning{.from = seed{given.seed}, .prompt = *given.prompt}) << '\n';
    return 0;
  }
  const data::text text = data::read_bytes(given.data);
  const auto [train_text, validation] = text.split(0.1);
  auto some = data::windows<Batch, Length>(validation);
  const auto [x, y, begins] = *some.begin();
  compare<Step, Plain>(given, bind<"text">(x), bind<"next">(y));
  const auto epoch_of = [&](seed s, int epoch) { return batches(train_text, s, epoch) | std::views::take(steps); };
  Step step;
  train(
      step, given, {.steps = std::ranges::ssize(epoch_of(seed{}, 0)), .batch = Batch, .higher_is_better = false},
      epoch_of,
      [&](Step& one, double lr, const auto& b) {
        prepare(one, b);
        return one.train({.lr = lr}, bind<"text">(b.inputs), bind<"next">(b.targets));
      },
      [&](Step& one) {
        const double bits =
            bits_a_byte<ValidationLoss>(one, data::windows<Batch, Length>(validation) | std::views::take(judged));
        std::printf("validation on %lld of %lld bytes: %.3f bits a byte; it writes\n%s\n",
                    static_cast<long long>(std::min<std::int64_t>(some.size(), judged) * Batch * Length),
                    static_cast<long long>(std::ssize(validation)), bits,
                    written_by(one, beginning{one.random().from, one.steps()}).c_str());
        return bits;
      },
      bind<"text">(x), bind<"next">(y));
  return 0;
} catch (const std::exception& e) {
  std::cerr << defaults.name << ": " << e.what() << '\n';
  return 1;
}

}  // namespace training
