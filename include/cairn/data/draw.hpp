// Drawing from logits, for example the next token of a language model.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/data/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace cairn::data {

struct draw_options {
  double temperature = 1;  ///< logits are divided by it; 0 always takes the largest logit
  int top_k = 0;           ///< number of largest logits that can be drawn; 0: all of them
};

/// Thrown for logits from which nothing can be drawn. There are two cases.
/// - The logit at `index` is NaN or plus infinity, and `actual` is its value.
/// - All logits are minus infinity. Then `index` is -1 and `actual` is minus infinity.
struct logit_error : std::runtime_error {
  std::int64_t index;
  double actual;

  [[gnu::cold]] logit_error(std::int64_t at, double given)
      : std::runtime_error(at < 0
                               ? std::string("logits: expected one above minus infinity, got none")
                               : detail::text_of({"logit ", detail::text_of(at),
                                                  ": expected a number below infinity, got ", std::to_string(given)})),
        index(at),
        actual(given) {}
};

/// Returns an index, drawn with the probabilities softmax(logits / temperature) of a row of logits. If several logits
/// are equal, the first of them counts as the larger. A logit of minus infinity is never drawn.
///
/// Each call takes two words of the random sequence, whatever is drawn. So the n-th draw depends only on the seed, the
/// sequence and n. Throws logit_error, and option_error for a temperature or a top_k that is not allowed.
template <std::ranges::contiguous_range Logits>
std::int32_t draw(const Logits& logits, const draw_options& how, random_sequence& random) {
  if (!(how.temperature >= 0 && std::isfinite(how.temperature)))
    refuse(option_error("temperature", "0 or more", how.temperature));
  if (how.top_k < 0) refuse(option_error("top_k", "0 or more", how.top_k));
  constexpr double least = -std::numeric_limits<double>::infinity();
  std::vector<double> row(std::ranges::begin(logits), std::ranges::end(logits));
  std::int64_t largest = -1;
  for (std::int64_t i = 0; i < std::ssize(row); ++i) {
    const double logit = row[static_cast<std::size_t>(i)];
    if (!(logit < std::numeric_limits<double>::infinity())) refuse(logit_error(i, logit));
    if (logit > (largest < 0 ? least : row[static_cast<std::size_t>(largest)])) largest = i;
  }
  if (largest < 0) refuse(logit_error(-1, least));
  // 26 bits and 27 bits together make a double in [0, 1).
  const std::uint64_t high = random() >> 6, low = random() >> 5;
  if (how.temperature == 0) return static_cast<std::int32_t>(largest);

  const auto count = static_cast<std::size_t>(how.top_k);
  if (count > 0 && count < row.size()) {
    // The largest logit comes first. Equal logits are in the order of their indices.
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < row.size(); ++i) order.emplace_back(-row[i], i);
    std::ranges::nth_element(order, order.begin() + how.top_k);
    for (std::size_t i = count; i < order.size(); ++i) row[order[i].second] = least;
  }
  const double top = row[static_cast<std::size_t>(largest)];
  double sum = 0;
  for (double& x : row) x = sum += std::exp((x - top) / how.temperature);
  const double drawn =
      static_cast<double>(high << 27 | low) * 0x1p-53 * sum;  // below the sum, which is the last number of `row`
  return static_cast<std::int32_t>(std::ranges::upper_bound(row, drawn) - row.begin());
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
