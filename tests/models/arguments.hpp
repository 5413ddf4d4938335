// Models with segments that have several arguments and results.
#pragma once

#include "parts.hpp"

namespace models {

constexpr auto two_arguments = [] {
  const auto a = x | nn::linear<"a", 12>;
  const auto b = x | nn::linear<"b", 12>;
  return classify(ckpt<"s", allow_useless>([](auto p, auto q) { return sigmoid(p) * tanh(q) + q; }, a, b));
}();
constexpr auto two_results = [] {
  const auto cell = [](auto p, auto q) { return std::tuple{tanh(p + q), sigmoid(p) * exp(q)}; };
  const auto a = x | nn::linear<"a", 12> | nn::tanh;
  const auto [h, c] = ckpt<"cell", allow_useless>(cell, a, x);
  const auto [h2, c2] = ckpt<"cell2", allow_useless>(cell, h, c);
  return classify(h2 * c2 + h);
}();
constexpr auto result_unused = [] {
  const auto [h, c] = ckpt<"cell", allow_useless>(
      [](auto p) { return std::tuple{tanh(p), gelu(p) | nn::linear<"a", 12>}; }, x | nn::linear<"in", 12>);
  return classify(c);
}();
constexpr auto passed_through = [] {
  const auto both = [](auto p, auto q) { return std::tuple{p, tanh(p * q)}; };
  const auto [h, c] = ckpt<"s", allow_useless>(both, x | nn::linear<"in", 12>, x);
  return classify(h + c);
}();

constexpr auto results_of_the_inner = [] {
  const auto outer = [](auto p, auto q) {
    const auto [a, b, same] = ckpt<"inner">(
        [](auto u, auto v) { return std::tuple{tanh(u * v), exp(u) | nn::linear<"i", 12>, v}; }, tanh(p), q);
    return std::tuple{a + b, b * same};
  };
  const auto [h, c] = ckpt<"outer", allow_useless>(outer, x | nn::linear<"in", 12>, x);
  return classify(h * sigmoid(c));
}();
constexpr auto recurrent = [] {
  const auto cell = [](auto p, auto q, auto in) {
    const auto state = q * sigmoid(p) + tanh((p | nn::linear<"state", 12>)+in);
    return std::tuple{tanh(state), state};
  };
  const auto [h1, c1] = ckpt<"cell1">(cell, x, x, x);
  const auto [h2, c2] = ckpt<"cell2">(shared(cell), h1, c1, x);
  const auto [h3, c3] = ckpt<"cell3">(shared(cell), h2, c2, x);
  return classify(h3 + h1);
}();
// Sequences of different lengths. The lengths need no gradient. The state after the end of a sequence does not change.
constexpr auto of_lengths = [] {
  const auto lengths = sum<1>(square(slice<1, 0, 2>(x)), keepdim);
  const auto cell = [](auto h, auto length, auto time) {
    const auto on = relu(1_c - relu(time - length));
    return on * (tanh(h) | nn::linear<"state", 12>)+(1_c - on) * h;
  };
  const auto h1 = ckpt<"t1">(cell, x | nn::linear<"in", 12>, lengths, 1_c);
  const auto h2 = ckpt<"t2">(shared(cell), h1, lengths, 2_c);
  return classify(ckpt<"t3">(shared(cell), h2, lengths, 3_c));
}();
// A segment reads a part of an input in place.
constexpr auto part_of_an_input = [] {
  const auto body = layer([](auto h) { return tanh(h * reshape<4, 12>(slice<0, 2, 6>(x))) | nn::linear<"out", 12>; });
  const auto h = slice<0, 4, 8>(x) | nn::linear<"in", 12> | ckpt<"s", allow_useless>(body);
  return classify(concatenate<0>(h, slice<0, 0, 4>(x)));
}();
constexpr auto loss_inside = [] {
  const auto of_labels = [](auto h, auto t) { return cross_entropy(tanh(h) | nn::linear<"head", 5>, t); };
  return ckpt<"s">(of_labels, x | nn::linear<"in", 12>, y);
}();
constexpr auto loss_twice = [] {
  const auto l = classify(x | ckpt<"s">(mlp));
  return l + square(l) * 0.1_c;
}();

}  // namespace models
