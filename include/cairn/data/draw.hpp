// Drawing from logits: what a model of text writes next.
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
  double temperature = 1;  ///< by which logits are divided; with 0 the largest is taken
  int top_k = 0;           ///< only so many of the largest can be drawn; all if 0
};

/// A logit that is not a number or is not below infinity; or, without an index, minus infinity in place of all.
struct logit_error : std::runtime_error {
  std::int64_t index;
  double actual;

  [[gnu::cold]] logit_error(std::int64_t at, double given)
      : std::runtime_error(at < 0 ? std::string("logits: expected one above minus infinity, got none")
                                  : text_of({"logit ", text_of(at), ": expected a number below infinity, got ",
                                             std::to_string(given)})),
        index(at),
        actual(given) {}
};

/// An index, drawn by softmax(logits / temperature) from a row of logits: where several are alike, the first counts as
/// the larger. Takes two words of the sequence, whatever is drawn, so that the n-th draw depends on the seed, the
/// sequence and n alone. A logit of minus infinity is never drawn. Throws logit_error and option_error.
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
  const std::uint64_t high = random() >> 6, low = random() >> 5;  // 26 bits and 27 make a double in [0, 1)
  if (how.temperature == 0) return static_cast<std::int32_t>(largest);

  const auto count = static_cast<std::size_t>(how.top_k);
  if (count > 0 && count < row.size()) {
    std::vector<std::pair<double, std::size_t>> order;  // the largest first, of equal ones the first
    for (std::size_t i = 0; i < row.size(); ++i) order.emplace_back(-row[i], i);
    std::ranges::nth_element(order, order.begin() + how.top_k);
    for (std::size_t i = count; i < order.size(); ++i) row[order[i].second] = least;
  }
  const double top = row[static_cast<std::size_t>(largest)];
  double sum = 0;
  for (double& x : row) x = sum += std::exp((x - top) / how.temperature);
  const double drawn =
      static_cast<double>(high << 27 | low) * 0x1p-53 * sum;  // below the sum, which is the last of row
  return static_cast<std::int32_t>(std::ranges::upper_bound(row, drawn) - row.begin());
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
