// Digits of my_model, imported from PyTorch.
// cairn-import wrote this file. Parameters have the names and the layouts of the PyTorch model.
#pragma once

#include <cairn/cairn.hpp>

namespace digits {

using namespace cairn;

/// Residual of my_model
constexpr auto residual = layer([](auto x) {
  const auto y = x | nn::conv2d_without_bias<"conv1", 8, 3, nn::window{.padding = 1}> |
      nn::batch_norm<"bn1"> | nn::relu | nn::conv2d<"conv2", 8, 3, nn::window{.padding = 1}>;
  return relu(x + y);
});

/// Digits of my_model
constexpr auto digits =
    block<"stem">(nn::conv2d<"0", 8, 3, nn::window{.padding = 1}> | nn::relu | nn::max_pool2d<2>) |
    repeat<2, "blocks">([](auto) { return residual; }) | nn::flatten | nn::linear<"head", 10>;

constexpr auto images = input<"images", 4, 1, 10, 10>;
constexpr auto labels_ = indices<"labels", 10, 4>;

constexpr auto output = transpose<0, 2, 3, 1>(images) | digits;
constexpr auto loss = cross_entropy(output, labels_);

using train_step = program<loss>;

}  // namespace digits
