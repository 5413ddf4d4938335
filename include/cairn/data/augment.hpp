// Changes to the pictures of a batch, drawn at random: `data::batches<128>(set, seed{1}, epoch).changed(...)`.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/base/tensor_view.hpp"
#include "cairn/data/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace cairn::data {

/// The extents of a picture whose numbers lie {rows, columns, channels}.
struct picture {
  int rows, columns, channels = 1;
};

namespace detail {
/// Checks that the rows of a batch are pictures of these extents.
inline void check_pictures(tensor_view<float, 2> images, const picture& each) {
  if (const int least = std::min({each.rows, each.columns, each.channels}); least < 1)
    refuse(size_error("extent of a picture, at least", 1, least));
  const auto features = std::int64_t{each.rows} * each.columns * each.channels;
  if (const auto found = static_cast<std::int64_t>(images.shape()[1]); features != found)
    refuse(size_error("numbers of a picture", features, found));
}
}  // namespace detail

/// Mirrors each picture with a probability of 1/2, so that left and right change places. Throws size_error if the
/// extents do not fit.
inline void mirror(tensor_view<float, 2> images, const picture& each, random_sequence& random) {
  detail::check_pictures(images, each);
  const auto count = static_cast<std::int64_t>(images.shape()[0]);
  float* row = images.data();
  for (std::int64_t image = 0; image < count; ++image) {
    const bool is_mirrored = random.below(2) == 1;
    for (int r = 0; r < each.rows; ++r, row += each.columns * each.channels) {
      for (int left = 0, right = each.columns - 1; is_mirrored && left < right; ++left, --right)
        std::swap_ranges(row + left * each.channels, row + (left + 1) * each.channels, row + right * each.channels);
    }
  }
}

/// Moves each picture by -most to most rows and columns. Numbers that enter at a border are `fill`. This is the random
/// crop of a picture that was padded by `most`. Throws size_error if the extents do not fit, and option_error if `most`
/// is negative.
inline void shift(tensor_view<float, 2> images, const picture& each, int most, random_sequence& random,
                  float fill = 0) {
  detail::check_pictures(images, each);
  if (most < 0) refuse(option_error("rows and columns to shift by, at most", "0 or more", most));
  const auto draw = [&] {
    const std::int64_t distance = std::int64_t{random.below(2U * static_cast<std::uint32_t>(most) + 1)} - most;
    return static_cast<int>(std::clamp<std::int64_t>(distance, -each.rows - each.columns, each.rows + each.columns));
  };
  const auto features = static_cast<std::ptrdiff_t>(images.shape()[1]);
  std::vector<float> before(images.shape()[1]);
  for (float* image = images.begin(); image != images.end(); image += features) {
    std::copy_n(image, features, before.begin());
    std::fill_n(image, features, fill);
    const int down = draw(), right = draw();
    const int first = std::max(0, right), last = std::min(each.columns, each.columns + right);
    for (int r = std::max(0, down); r < std::min(each.rows, each.rows + down) && first < last; ++r) {
      const auto from = before.begin() + ((r - down) * each.columns + first - right) * each.channels;
      std::copy_n(from, (last - first) * each.channels, image + (r * each.columns + first) * each.channels);
    }
  }
}

/// Adds numbers of a normal distribution with mean 0 (Box and Muller 1958). Throws option_error if the deviation is
/// negative or not finite.
inline void add_noise(tensor_view<float, 2> images, double deviation, random_sequence& random) {
  if (!(deviation >= 0 && std::isfinite(deviation))) refuse(option_error("deviation of noise", "0 or more", deviation));
  for (float& x : images) {
    const double radius = std::sqrt(-2 * std::log((random() + 1.0) * 0x1p-32));  // the logarithm of a number in (0, 1]
    x += static_cast<float>(deviation * radius * std::cos(2 * std::numbers::pi * (random() * 0x1p-32)));
  }
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
