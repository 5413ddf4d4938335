// Models with nested segments.
#pragma once

#include "parts.hpp"

namespace models {

constexpr auto nested = classify(x | ckpt<"outer">(ckpt<"inner">(mlp) | nn::tanh | nn::linear<"last", 12>));
constexpr auto nested_pair =
    classify(x | ckpt<"outer">(ckpt<"a">(mlp) | nn::tanh | ckpt<"b">(block<"b">(mlp)) | nn::sigmoid));
constexpr auto three_deep =
    classify(x | ckpt<"o">(block<"o">(mlp) | ckpt<"m">(block<"m">(mlp) | ckpt<"i">(mlp) | nn::tanh) | nn::tanh));
constexpr auto whole_in_nested =
    classify(x | ckpt<"outer">(repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); })));

constexpr auto four_deep = [] {
  constexpr auto third = nn::gelu | ckpt<"d">(mlp) | nn::sigmoid;
  constexpr auto second = nn::tanh | nn::linear<"b", 12> | ckpt<"c">(third) | nn::tanh;
  return classify(x | ckpt<"a">(nn::linear<"a", 12> | ckpt<"b">(second) | nn::tanh));
}();
constexpr auto repeat_in_repeat =
    classify(x | repeat<2, "stage">([](auto) {
               return ckpt<"stage">(repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); }));
             }));
template <int N>
constexpr auto halved() {
  if constexpr (N == 1) return nn::linear<"fc", 12> | nn::tanh;
  else return block<"l">(ckpt<"left", allow_useless>(halved<N / 2>())) | block<"r">(halved<N - N / 2>());
}
constexpr auto halves = classify(x | halved<5>());
constexpr auto bottleneck = [] {
  constexpr auto inner = nn::linear<"up", 17> | nn::gelu | nn::linear<"thin", 1>;
  constexpr auto outer = nn::linear<"down", 5> | ckpt<"inner">(inner) | nn::tanh | nn::linear<"out", 33>;
  return classify(x | nn::linear<"in", 33> | ckpt<"outer">(nn::residual(outer)));
}();
// Gradients as values: a penalty on a gradient through nested segments, and a penalty on a gradient inside a segment.
constexpr auto penalized = [] {
  const auto loss = classify(x | nn::linear<"in", 12> | ckpt<"outer">(ckpt<"inner">(mlp) | nn::tanh | attend));
  return loss + 0.1_c * sum(square(grad(loss, x)));
}();
inline constexpr auto energy = nn::linear<"e1", 17> | nn::tanh | nn::linear<"e2", 3>;
inline constexpr auto lower = layer([](auto h) { return h - 0.3_c * grad(sum(log(1_c + exp(energy(h)))), h); });
constexpr auto descended =
    classify(x | nn::linear<"in", 12> | repeat<2, "block">([](auto) { return ckpt<"s">(lower); }));

}  // namespace models
