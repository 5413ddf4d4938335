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
  random_sequence random(s, static_cast<std::uint64_t>(steps));
  std::vector<std::int32_t> written{'\n'};
  for (int i = 0; i < length; ++i)
    written.push_back(data::draw(next(written.back(), i), {.temperature = 0.8, .top_k = 40}, random));
  return data::vocabulary::bytes().decode(std::span(written).subspan(1));
}

}  // namespace training
