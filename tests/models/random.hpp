// Models that draw random numbers. Recomputation must draw the same numbers again.
#pragma once

#include "parts.hpp"

namespace models {

inline constexpr auto dropping_mlp =
    nn::linear<"fc1", 20> | nn::gelu | nn::dropout<"d1", 0.25> | nn::linear<"fc2", 12> | nn::dropout<"d2">;
constexpr auto dropped = classify(x | ckpt<"s">(dropping_mlp));
constexpr auto dropped_in_blocks =
    classify(x | repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(dropping_mlp)); }));
inline constexpr auto dropping_inner = nn::linear<"w", 12> | nn::dropout<"b", 0.1> | nn::tanh | nn::dropout<"c">;
inline constexpr auto dropping_outer =
    nn::dropout<"a", 0.2> | ckpt<"inner">(block<"inner">(dropping_inner)) | nn::dropout<"d"> | nn::sigmoid;
constexpr auto dropped_in_nested = classify(
    x | nn::linear<"in", 12> | repeat<2, "block">([](auto) { return ckpt<"outer", allow_useless>(dropping_outer); }));
constexpr auto dropped_at_boundaries = [] {
  const auto h = x | nn::dropout<"in", 0.1> | nn::linear<"in", 12> | nn::dropout<"h">;
  const auto [a, b] = ckpt<"s">(
      [](auto p) {
        const auto q = dropout<"p", 0.25>(tanh(p));
        return std::tuple{dropout<"q">(q), p * q};
      },
      h);
  return classify(dropout<"out", 0.1>(dropout<"a">(a) * h + dropout<"b">(exp(b))));
}();
constexpr auto dropped_weights = [] {
  const auto w = ckpt<"weight">([] { return dropout<"w", 0.25>(tanh(dropout<"v", 0.25>(param<"v", 12, 12>))); });
  return classify(
      ckpt<"s">([](auto h, auto m) { return dropout<"d">(softmax(matmul(h, m))) | nn::linear<"o", 12>; }, x, w));
}();

inline constexpr auto noisy = layer([](auto h) {
  constexpr int n = decltype(h)::shape[0], features = decltype(h)::shape[1];
  return h * random_uniform<"u", n, 1> + random_normal<"eps", n, features> * random_bernoulli<"m", 0.25, features>;
});
constexpr auto noisy_in_blocks =
    classify(x | repeat<3, "block">([](auto) {
               return ckpt<"ff">(nn::residual(nn::linear<"fc1", 20> | nn::gelu | noisy | nn::linear<"fc2", 12> |
                                              nn::drop_path<"path", 0.25>));
             }));

}  // namespace models
