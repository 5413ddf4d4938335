// Models with scans. The body of a scan is planned once. The models test what a scan carries, reads, collects and
// stores.
#pragma once

#include "parts.hpp"

namespace models {

/// Two values are carried, and a third is collected. Each iteration reads a row of its own, its index, and a value
/// that is the same in all iterations.
inline constexpr auto gated = [](auto h, auto c, auto row, auto i, auto scale) {
  const auto z = concatenate<-1>(h, c * row) | nn::linear<"in", 24>;
  const auto next = c * sigmoid(slice<1, 0, 12>(z)) + tanh(slice<1, 12, 24>(z)) * scale;
  return std::tuple{tanh(next), next, mean<0>(next) * as_real(i)};
};
template <class Policy>
constexpr auto looped = [] {
  const auto h = x | nn::linear<"start", 12>;
  const auto [last, state, means] =
      scan<7, "step", Policy>(gated, carried(h, tanh(h)), each(param<"rows", 7, 12>, arange<7>), exp(param<"s">));
  return classify(last * state + mean<0>(means));
}();

/// A scan in a segment, with segments in its body. Next to it, a scan in a scan.
constexpr auto looped_in_segments = [] {
  const auto loop = layer([](auto h) {
    return scan<4, "step", revolve<2>>([](auto v) { return v | ckpt<"s">(mlp) | nn::tanh; }, carried(h));
  });
  const auto both = layer([](auto h) {
    const auto inner = [](auto v) {
      return scan<3, "inner">([](auto u) { return tanh(u * param<"w", 12>); }, carried(v)) + v * 0.5_c;
    };
    return scan<4, "outer", two_level<2, 2>>(inner, carried(h));
  });
  return classify(x | nn::linear<"in", 12> | ckpt<"a">(loop) | both | ckpt<"b">(loop));
}();

/// Random operations in a body draw other numbers in each iteration. A state continues from one iteration to the next.
template <class Policy>
constexpr auto looped_with_state = [] {
  const auto body = [](auto h) { return h | nn::linear<"fc", 12> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.2>; };
  return classify(scan<5, "step", Policy>(body, carried(x | nn::linear<"in", 12>)));
}();

/// A scan with values in several roles. One value is carried, is the same in all iterations, and is also read after the
/// scan. Another value gives its rows to the iterations, twice, and is also the same in all iterations. A parameter is
/// an argument that the body also reads directly.
inline constexpr auto in_roles = [](auto h, auto row, auto again, auto all, auto same, auto w) {
  return tanh(h * row + matmul(h * param<"/w", 12>, transpose(all)) * again) * w + tanh(same);
};
template <class Policy>
constexpr auto looped_in_roles = [] {
  const auto h = tanh(x | nn::linear<"start", 12>);
  const auto loop = layer(
      [](auto v, auto r) { return scan<12, "step", Policy>(in_roles, carried(v), each(r, r), r, v, param<"/w", 12>); });
  return classify(ckpt<"s", allow_useless>(loop, h, square(param<"rows", 12, 12>)) * h);
}();

/// Two layers of an LSTM over 32 iterations. The first states are computed. Dropout acts on the values between the
/// layers.
template <class Policy>
constexpr auto recurrent = [] {
  const auto sequence = reshape<8, 32, 3>(x | nn::linear<"in", 96>);
  const auto begin = reshape<2, 8, 6>(tanh(x));
  constexpr nn::recurrent_options stacked{.num_layers = 2, .dropout = 0.2};
  const auto [ys, h, c] = nn::lstm<"lstm", 6, stacked, Policy>(sequence, begin, square(begin));
  return classify(mean<1>(ys) + mean<0>(h * c));
}();

/// Units that run in both directions. Their parameters start as the options say.
constexpr auto in_both_directions = [] {
  constexpr nn::recurrent_options options{.bidirectional = true, .start = initial::orthogonal()};
  return classify(mean<1>(reshape<8, 4, 3>(x) | nn::gru<"gru", 6, options, segment_every<2>>));
}();

}  // namespace models
