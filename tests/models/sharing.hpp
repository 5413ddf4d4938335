// Models with skips over segments, with values that several operations read, and with shared weights.
#pragma once

#include "parts.hpp"

namespace models {

// Skips over segments, and values that several operations read.
constexpr auto skip = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(h + ckpt<"s">(mlp, h) * h);
}();
constexpr auto two_readers = [] {
  const auto h = x | nn::linear<"in", 12> | nn::tanh;
  return classify(ckpt<"s">(mlp, h) + ckpt<"t">(block<"t">(mlp), h));
}();
constexpr auto dense = [] {
  const auto a = x | nn::linear<"in", 12>;
  const auto b = ckpt<"s">(mlp, a);
  const auto c = ckpt<"t">([](auto p, auto q) { return tanh(p * q) | nn::linear<"join", 12>; }, a, b);
  return classify(a + b + c);
}();
constexpr auto skip_over_two = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(h * ckpt<"t">(block<"t">(mlp), ckpt<"s">(mlp, h)));
}();
constexpr auto crossing_skips = [] {
  const auto a = x | nn::linear<"in", 12>;
  const auto b = ckpt<"s">(mlp, a);
  const auto c = ckpt<"t">(block<"t">(mlp), b + a);
  return classify(ckpt<"u">(block<"u">(mlp), c + b) * a + b);
}();
constexpr auto read_by_two_segments = [] {
  const auto gated = [](auto h, auto g) { return tanh(h | nn::linear<"w", 12>) * g; };
  const auto gate = x | nn::linear<"gate", 12> | nn::sigmoid;
  const auto once = ckpt<"s">(gated, x, gate);
  return classify(ckpt<"t">(shared(layer(gated)), once, gate));
}();
constexpr auto residual_of_residual =
    classify(x | ckpt<"s">(nn::residual(nn::residual(mlp) | nn::tanh)) | nn::residual(ckpt<"t">(block<"t">(mlp))));

// Weights that several layers share.
constexpr auto tied = classify(x | ckpt<"s">(mlp) | ckpt<"t">(shared(mlp)));
inline constexpr auto tied_layer = nn::linear<"w", 12>;
constexpr auto inside_and_outside =
    classify(x | tied_layer | nn::tanh | ckpt<"s", allow_useless>(shared(tied_layer) | nn::tanh) | shared(tied_layer));

constexpr auto inside_outside_between =
    classify(x | ckpt<"s", allow_useless>(shared(tied_layer) | nn::tanh) | tied_layer | nn::sigmoid |
             ckpt<"t">(shared(tied_layer) | nn::gelu | ckpt<"inner", allow_useless>(shared(tied_layer | nn::tanh))));
constexpr auto shared_by_blocks =
    classify(x | repeat<3, "block">([](auto) {
               return ckpt<"s">(nn::residual(nn::linear<"/w", 12> | nn::tanh) | nn::linear<"own", 12>);
             }));
constexpr auto transposed_weight = classify(x | ckpt<"s">(layer([](auto h) {
                                              const auto w = param<"w", 12, 12>;
                                              return matmul(tanh(matmul(h, w)), transpose(w)) + tanh(h);
                                            })));
// Values that depend only on shared weights are computed once. They are a norm of each column, which is tagged and
// stored; its temperature in nested segments; and a gate. Two of three layers read the gate in one segment.
inline constexpr auto weight_norm = [](auto h) {
  const auto w = param<"/v", 12, 12>;
  const auto norm = tag<"norm">(sqrt(sum<0>(square(w), keepdim) + 0.1_c));
  const auto tempered = ckpt<"inner", allow_useless>([](auto u) { return u * exp(param<"/t"> * 0.5_c); }, w / norm);
  return tanh(matmul(h, tempered) * softmax(param<"/gate", 12> * constant<-2>));
};
inline constexpr auto normed = ckpt<"a", save<"norm">, allow_useless>(layer(weight_norm));
constexpr auto weight_normed =
    classify(x | nn::linear<"in", 12> | normed |
             ckpt<"both">(layer([](auto h) { return h | normed | nn::residual(normed); })) | nn::linear<"out", 12>);

}  // namespace models
