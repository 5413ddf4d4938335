// Models with segments that read only parameters, with frozen parameters, detached arguments, and state.
#pragma once

#include "parts.hpp"

namespace models {

// Segments that read only parameters, frozen parameters, and detached arguments.
constexpr auto of_parameters = [] {
  const auto w = ckpt<"weight">([] {
    const auto v = param<"v", 12, 12>;
    return v / sqrt(sum<1>(square(v), keepdim));
  });
  return classify(tanh(matmul(x, w)));
}();
constexpr auto parameters_in_nested =
    classify(x | ckpt<"outer">(layer([](auto h) {
               const auto w = ckpt<"weight">([] { return tanh(param<"v", 12, 12>) * exp(param<"scale">); });
               return sigmoid(matmul(h, w)) + matmul(tanh(h), transpose(w));
             })));
constexpr auto scalar_between = [] {
  const auto temperature = ckpt<"t", allow_useless>([] { return exp(param<"t">) + 1_c; });
  const auto scaled = [](auto h, auto t) { return softmax(h / t) | nn::linear<"w", 12>; };
  return classify(ckpt<"u">(block<"u">(scaled), ckpt<"s">(scaled, x, temperature), temperature));
}();
constexpr auto with_frozen =
    classify(x | ckpt<"s">(nn::tanh | layer([](auto h) { return h * frozen<"scale", 12>; }) | mlp));
constexpr auto detached_argument = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(ckpt<"s">([](auto p, auto q) { return tanh(p | nn::linear<"w", 12>) * exp(q); }, h, detach(h)));
}();
constexpr auto frozen_weights = classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
                                           return gelu(matmul(tanh(h), transpose(frozen<"f", 17, 12>))) |
                                                  ckpt<"t", allow_useless>(nn::linear<"w", 12> | nn::tanh);
                                         })));
constexpr auto detached_between = [] {
  const auto h = ckpt<"s">(mlp, x | nn::linear<"in", 12>);
  return classify(ckpt<"t">(block<"t">(mlp), detach(h)) * h);
}();

// Weights that are computed from parameters, and an adapter next to weights that are not trained.
constexpr auto other_weights =
    classify(x | ckpt<"outer">(nn::lora<2, 4>(nn::linear<"adapted", 20, initial::orthogonal()>) |
                               nn::layer_norm<"norm", nn::norm_options{.affine = false}> | nn::prelu<"act"> |
                               ckpt<"inner">(nn::weight_norm(nn::linear<"row", 12>) |
                                             nn::rms_norm<"rms", nn::rms_norm_options{.affine = false}> |
                                             nn::gelu_tanh | nn::spectral_norm(nn::linear_without_bias<"all", 12>))));

// State that a training step updates.
inline constexpr auto normalizing_mlp = nn::linear<"fc1", 20> | nn::batch_norm<"bn"> | nn::gelu | nn::linear<"fc2", 12>;
constexpr auto batch_normalized =
    classify(x | repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(normalizing_mlp)); }));
constexpr auto batch_normalized_in_nested =
    classify(x | ckpt<"outer">(ckpt<"inner">(normalizing_mlp) | nn::tanh | nn::batch_norm<"outer">));

}  // namespace models
