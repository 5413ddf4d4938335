// The parts of small models with segments of every shape, and the smallest of these models. All models read x {8, 12}
// and y, 8 labels in [0, 5).
#pragma once

#include <cairn/cairn.hpp>

namespace models {

using namespace cairn;

constexpr auto x = input<"x", 8, 12>;
constexpr auto y = labels<"y", 5, 8>;

template <class H>
constexpr auto classify(H h) {
  return cross_entropy(h | nn::linear<"head", 5>, y);
}

inline constexpr auto mlp = nn::linear<"fc1", 20> | nn::gelu | nn::linear<"fc2", 12>;
constexpr auto one = classify(x | ckpt<"s">(mlp));

inline constexpr auto heads = [](auto h) { return transpose<1, 0, 2>(reshape<8, 3, 4>(h)); };
inline constexpr auto attend = layer([](auto h) {
  const auto q = heads(h | nn::linear<"q", 12>);
  const auto k = heads(h | nn::linear<"k", 12>);
  const auto v = heads(h | nn::linear<"v", 12>);
  return reshape<8, 12>(transpose<1, 0, 2>(matmul(softmax(matmul(q, transpose(k)) * 0.5_c), v)));
});

}  // namespace models
