// Small models with segments of every shape. All read x {8, 12} and y (8 labels in [0, 5)) and end in a cross entropy.
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

// One segment.
constexpr auto one = classify(x | ckpt<"s">(mlp));
constexpr auto trailing_activation = classify(x | ckpt<"s">(nn::linear<"a", 17> | nn::tanh));
constexpr auto trailing_product = classify(x | nn::linear<"in", 9> | ckpt<"s">(nn::relu | nn::linear<"a", 17>));
constexpr auto elementwise_only = classify(x | nn::linear<"in", 33> | ckpt<"s">(nn::tanh | nn::sigmoid | nn::exp));
constexpr auto normalized = classify(x | nn::linear<"in", 7> | ckpt<"s">(nn::softmax | nn::linear<"a", 12>));
constexpr auto of_the_whole = classify(x | ckpt<"s">(nn::linear<"a", 31> | nn::relu | nn::linear<"b", 3> | nn::gelu));

// Several segments.
constexpr auto chain_of_two = classify(x | ckpt<"s">(mlp) | ckpt<"t">(block<"t">(mlp)));
constexpr auto repeated_residual =
    classify(x | repeat<4, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); }));
constexpr auto widths = classify(
    x | repeat<3, "block">([](auto i) { return ckpt<"s">(nn::linear<"fc", 10 + 7 * i> | nn::gelu); }));
constexpr auto plain_between = classify(x | ckpt<"s">(mlp) | nn::tanh | nn::linear<"mid", 12> | ckpt<"t">(block<"t">(mlp)));

// Skips over segments, and values read by several.
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
constexpr auto residual_of_residual =
    classify(x | ckpt<"s">(nn::residual(nn::residual(mlp) | nn::tanh)) | nn::residual(ckpt<"t">(block<"t">(mlp))));

// Shared weights.
constexpr auto tied = classify(x | ckpt<"s">(mlp) | ckpt<"t">(mlp));
constexpr auto inside_and_outside = classify(
    x | nn::linear<"w", 12> | nn::tanh | ckpt<"s">(nn::linear<"w", 12> | nn::tanh) | nn::linear<"w", 12>);

// Nesting.
constexpr auto nested = classify(x | ckpt<"outer">(ckpt<"inner">(mlp) | nn::tanh | nn::linear<"last", 12>));
constexpr auto nested_pair = classify(
    x | ckpt<"outer">(ckpt<"a">(mlp) | nn::tanh | ckpt<"b">(block<"b">(mlp)) | nn::sigmoid));
constexpr auto three_deep = classify(
    x | ckpt<"o">(block<"o">(mlp) | ckpt<"m">(block<"m">(mlp) | ckpt<"i">(mlp) | nn::tanh) | nn::tanh));
constexpr auto whole_in_nested = classify(
    x | ckpt<"outer">(repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); })));

// Several arguments and results.
constexpr auto two_arguments = [] {
  const auto a = x | nn::linear<"a", 12>;
  const auto b = x | nn::linear<"b", 12>;
  return classify(ckpt<"s">([](auto p, auto q) { return sigmoid(p) * tanh(q) + q; }, a, b));
}();
constexpr auto two_results = [] {
  const auto cell = [](auto p, auto q) { return std::tuple{tanh(p + q), sigmoid(p) * exp(q)}; };
  const auto a = x | nn::linear<"a", 12> | nn::tanh;
  const auto [h, c] = ckpt<"cell">(cell, a, x);
  const auto [h2, c2] = ckpt<"cell2">(cell, h, c);
  return classify(h2 * c2 + h);
}();
constexpr auto result_unused = [] {
  const auto [h, c] = ckpt<"cell">([](auto p) { return std::tuple{tanh(p), gelu(p) | nn::linear<"a", 12>}; },
                                   x | nn::linear<"in", 12>);
  return classify(c);
}();
constexpr auto passed_through = [] {
  const auto [h, c] = ckpt<"s">([](auto p, auto q) { return std::tuple{p, tanh(p * q)}; }, x | nn::linear<"in", 12>, x);
  return classify(h + c);
}();

// Parameters only, frozen parameters, detached arguments.
constexpr auto of_parameters = [] {
  const auto w = ckpt<"weight">([] {
    const auto v = param<"v", 12, 12>;
    return v / sqrt(sum<1>(square(v), keepdim));
  });
  return classify(tanh(matmul(x, w)));
}();
constexpr auto with_frozen = classify(x | ckpt<"s">(nn::tanh | layer([](auto h) { return h * frozen<"scale", 12>; }) | mlp));
constexpr auto detached_argument = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(ckpt<"s">([](auto p, auto q) { return tanh(p) * exp(q); }, h, detach(h)));
}();

// Views, products with leading axes, reductions.
inline constexpr auto heads = [](auto h) { return transpose<1, 0, 2>(reshape<8, 3, 4>(h)); };
inline constexpr auto attend = layer([](auto h) {
  const auto q = heads(h | nn::linear<"q", 12>);
  const auto k = heads(h | nn::linear<"k", 12>);
  const auto v = heads(h | nn::linear<"v", 12>);
  return reshape<8, 12>(transpose<1, 0, 2>(matmul(softmax(matmul(q, transpose(k)) * 0.5_c), v)));
});
constexpr auto attention = classify(x | nn::linear<"in", 12> | ckpt<"attention">(attend) | nn::tanh);
constexpr auto centered = classify(
    x | nn::linear<"in", 12> | ckpt<"norm">(layer([](auto h) {
      const auto c = h - mean<-1>(h, keepdim);
      return c / sqrt(mean<-1>(square(c), keepdim) + 1e-5_c);
    })) | nn::linear<"mid", 12> | nn::relu);
constexpr auto with_outputs = [] {
  const auto logits = x | ckpt<"s">(mlp) | nn::linear<"head", 5>;
  return outputs(cross_entropy(logits, y), accuracy(logits, y), logits);
}();

}  // namespace models
