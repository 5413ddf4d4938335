// Models with tiled layers, which run on groups of rows.
#pragma once

#include "parts.hpp"

namespace models {

constexpr auto tiled_blocks =
    classify(x | repeat<3, "block">([](auto) { return nn::residual(nn::layer_norm<"norm"> | nn::tiled<4>(mlp)); }));

/// Layers on a number of groups that is given, or that `fit` chooses: `tiled_by<4, 2>` or `tiled_by<up_to<4>, up_to<2>>`.
template <auto N, auto Other>
constexpr auto tiled_by =
    cross_entropy(input<"x", 64, 12> | repeat<3, "block">([](auto) {
                    return nn::residual(nn::layer_norm<"norm"> | nn::tiled<N>(mlp)) |
                           nn::residual(nn::linear<"fc3", 16> | nn::tanh | nn::linear<"fc4", 12>);
                  }) | nn::tiled<Other>(nn::dropout<"drop", 0.2> | nn::linear<"fc", 12> | nn::gelu) |
                      nn::linear<"head", 5>,
                  labels<"y", 5, 64>);

/// Tiled layers in a segment, around a segment, in a tiled layer, and in the body of a scan.
constexpr auto tiled_everywhere = [] {
  constexpr auto dropping = nn::linear<"fc1", 20> | nn::dropout<"drop", 0.2> | nn::gelu | nn::linear<"fc2", 12>;
  constexpr auto in_loop = layer([](auto h) {
    return scan<3, "step", revolve<2>>([](auto v) { return v + tanh(nn::tiled<2>(mlp)(v)); }, carried(h));
  });
  return classify(x | ckpt<"a">(block<"wide">(mlp) | block<"a">(nn::tanh | nn::tiled<2>(dropping) | nn::sigmoid)) |
                  block<"b">(nn::tiled<4>(ckpt<"s">(dropping) | nn::tanh)) |
                  block<"c">(nn::tiled<2>(nn::tanh | nn::tiled<2>(dropping))) | in_loop);
}();

/// A tiled layer with several arguments and results. One value is an argument twice, and is read after the layer.
constexpr auto tiled_in_roles = [] {
  constexpr auto joined = [](auto a, auto b, auto labels) {
    const auto h = tanh(a | nn::linear<"fc", 12>) * b;
    return std::tuple{h * a, h + (labels | nn::embedding<"table", 12>)};
  };
  const auto h = tanh(x | nn::linear<"in", 12>);
  const auto [a, b] = nn::tiled<4>(joined, h, h, y);
  return classify(a * b + h);
}();

}  // namespace models
