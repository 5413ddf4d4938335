// Models with one segment, and with several segments in parallel or in sequence.
#pragma once

#include "parts.hpp"

namespace models {

// Models with one segment.
constexpr auto trailing_activation = classify(x | ckpt<"s", allow_useless>(nn::linear<"a", 17> | nn::tanh));
constexpr auto trailing_product =
    classify(x | nn::linear<"in", 9> | ckpt<"s", allow_useless>(nn::relu | nn::linear<"a", 17>));
constexpr auto elementwise_only =
    classify(x | nn::linear<"in", 33> | ckpt<"s", allow_useless>(nn::tanh | nn::sigmoid | nn::exp));
constexpr auto normalized =
    classify(x | nn::linear<"in", 7> | ckpt<"s", allow_useless>(nn::softmax | nn::linear<"a", 12>));
constexpr auto of_the_whole = classify(x | ckpt<"s">(nn::linear<"a", 31> | nn::relu | nn::linear<"b", 3> | nn::gelu));

// Models with several segments.
constexpr auto chain_of_two = classify(x | ckpt<"s">(mlp) | ckpt<"t">(block<"t">(mlp)));
constexpr auto repeated_residual = classify(x | repeat<4, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); }));
constexpr auto widths = classify(
    x | repeat<3, "block">([](auto i) { return ckpt<"s", allow_useless>(nn::linear<"fc", 10 + 7 * i> | nn::gelu); }));
constexpr auto plain_between =
    classify(x | ckpt<"s">(mlp) | nn::tanh | nn::linear<"mid", 12> | ckpt<"t">(block<"t">(mlp)));
constexpr auto sequential = classify(x | ckpt_sequential<3, by_bytes>(std::make_tuple(
                                             mlp, nn::tanh, block<"b">(mlp), nn::sigmoid, block<"c">(mlp))));

constexpr auto side_by_side = classify([] {
  const auto gate = x | nn::linear<"gate", 12> | nn::softmax;
  const auto left = x | ckpt<"s", allow_useless>(nn::linear<"left", 12> | nn::tanh);
  const auto right = x | ckpt<"t", allow_useless>(nn::linear<"right", 12> | nn::sigmoid);
  return gate * left + (1_c - gate) * right;
}());
constexpr auto one_value_twice = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(ckpt<"s">(mlp, h) * ckpt<"s">(mlp, h) + ckpt<"s">(shared(mlp), h + h));
}();
constexpr auto nothing_recomputed =
    classify(x | nn::linear<"in", 12> |
             ckpt<"s", allow_useless>(layer([](auto h) { return h * 2_c + param<"shift", 12>; })) | nn::tanh);
// Boundaries that are stored in half the bytes: in a chain of segments, for a pair of results, and in a segment with
// indices as an argument.
constexpr auto half_boundaries =
    classify(x | repeat<3, "block">([](auto) { return ckpt<"ff", boundaries<bf16>>(nn::residual(mlp)); }) | nn::tanh);
constexpr auto half_and_policies = [] {
  const auto [h, g] = ckpt<"s", boundaries<bf16>, allow_useless, save_matmuls>(
      [](auto v, auto at) {
        const auto y = v | mlp | nn::softmax;
        return std::tuple{y, gather<0>(y, at)};
      },
      x | nn::linear<"in", 12>, indices<"rows", x.shape[0], x.shape[0]>);
  return classify(h * g);
}();
constexpr auto other_boundaries =
    classify(x | ckpt<"a", boundaries<float>>(mlp) | ckpt<"b", boundaries<double>>(block<"b">(mlp)) | nn::tanh);
// Policies: in blocks, in nested segments, for batched products, and through views.
struct keeps_softmax {
  constexpr bool operator()(const saveable& v) const { return v.operation == "softmax"; }
};
inline constexpr auto tagged_mlp =
    nn::linear<"fc1", 20> | nn::tag<"hidden"> | nn::gelu | nn::softmax | nn::linear<"fc2", 12> | nn::tanh;
constexpr auto saved_in_blocks =
    classify(x | repeat<3, "block">([](auto) {
               return ckpt<"outer", allow_useless, save<"hidden", "mixed">>(
                   ckpt<"mlp", allow_useless, save_matmuls>(tagged_mlp) |
                   ckpt<"at", allow_useless, save_unbatched_matmuls, keeps_softmax>(attend) | nn::tag<"mixed"> |
                   nn::residual(nn::tanh));
             }));
constexpr auto saved_inside =
    classify(x | ckpt<"outer", allow_useless>(ckpt<"inner", allow_useless, save_all_but<"hidden">>(tagged_mlp) |
                                              nn::softmax | block<"b">(ckpt<"at", save<"v">>(nn::tag<"v"> | attend))));

}  // namespace models
