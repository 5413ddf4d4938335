// Models with index tensors and with reductions by order. The indices y select rows of tables.
#pragma once

#include "parts.hpp"

namespace models {

// Indices are an argument of a segment. They are transposed, sliced, concatenated, and looked up themselves.
constexpr auto embedded = [] {
  const auto looked_up = [](auto table, auto at) {
    const auto turned = transpose(reshape<2, 4>(at));
    const auto pairs = concatenate<1>(turned, reshape<4, 2>(slice<0, 4>(concatenate<0>(at, slice<0, 0, 4>(at)))));
    const auto again = gather<0>(slice<0, 1, 6>(at), reshape<8, 2>(pairs));
    return tanh(mean<1>(gather<0>(table, again) | nn::linear<"w", 12>));
  };
  return classify(x * ckpt<"s">(looked_up, softmax(param<"table", 5, 12>), y));
}();
// A segment computes indices, and a policy stores them. They select weights, and are an argument of an inner segment.
constexpr auto routed =
    classify(x | nn::linear<"in", 12> | ckpt<"s", save<"best">>(layer([](auto h) {
               const auto expert = [](auto v, auto at) { return gelu(v * gather<0>(param<"experts", 12, 12>, at)); };
               const auto best = tag<"best">(argmax<-1>(softmax(h)));
               const auto least = argmin<0>(transpose(h));
               return ckpt<"e", allow_useless>(expert, h, best) + h * one_hot(least);
             })));
// Gathers along other axes than the first, in nested segments. Some positions occur more than once.
inline constexpr auto picked = [](auto v, auto at) {
  const auto some = gather<2>(tanh(reshape<2, 4, 12>(v)), slice<0, 0, 5>(at));
  const auto more = gather<1>(softmax(some), argmax<0>(slice<0, 0, 4>(v)));
  return reshape<8, 15>(more) | nn::linear<"mix", 12>;
};
constexpr auto columns = [] {
  const auto outer = [](auto h, auto at) {
    return ckpt<"inner">(picked, h, argmax<1>(h)) * exp(matmul(one_hot(at), param<"rows", 5, 12>));
  };
  return classify(ckpt<"outer">(outer, x | nn::linear<"in", 12>, y));
}();
// Reductions over many equal numbers, the zeros of relu.
constexpr auto peaks = classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
                                  const auto t = reshape<8, 3, 4>(relu(h));
                                  const auto low = min<0, 2>(square(t), keepdim);
                                  return reshape<8, 12>(tanh(t) * max<1>(t, keepdim) + low * max(softmax(h))) +
                                         min<-1>(relu(h - 0.5_c), keepdim);
                                })));
// Sorted numbers, running sums, and the largest numbers of each row, which are weighted by their distance to the
// smallest numbers and added at their positions.
constexpr auto ordered =
    classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
               const auto best = argtopk<3>(h);
               const auto weighted = gather_along<1>(tanh(h), best) * softmax(topk<3>(h) - topk<3>(h, smallest));
               const auto in_order = gather_along<0>(h, argsort<0>(h));
               return cumsum<0>(scatter_add_along<1>(h, best, weighted)) * sort<-1>(h, descending) +
                      einsum<"ij,kj->ik">(in_order, param<"mix", 12, 12>) * erf(h) + round(h * 3_c) * h;
             })));
// Gradients of gradients, with recomputation.
constexpr auto sharpened = [] {
  const auto h = x | nn::linear<"in", 12>;
  const auto peak = [](auto v, auto at) { return gather<0>(square(v) * max<-1>(exp(v), keepdim), at); };
  const auto z = ckpt<"s">(peak, h, y);
  return classify(z) + mean(square(grad(mean(square(z)), h)));
}();
// The head and the embedding share their weights. There are learned, fixed and rotary positions. A norm of rows stands
// before each branch. Fused loops that read rows follow the kernels that compute the moments of the rows, in nested
// segments.
constexpr auto tied_head = [] {
  const auto turned = layer([](auto h) {
    const auto q = reshape<2, 4, 12>(nn::rotary(reshape<2, 4, 3, 4>(h | nn::linear<"q", 12>)));
    return q * softmax(matmul(q, transpose(q)) | nn::linear<"mix", 12>);
  });
  const auto blocks = repeat<2, "block">([=](auto) {
    return ckpt<"b">(nn::residual(nn::layer_norm<"ln1"> | turned) |
                     ckpt<"ff">(nn::residual(nn::rms_norm<"ln2"> | mlp)));
  });
  const auto tokens = reshape<2, 4>(y) | nn::embedding<"wte", 12, nn::embedding_options{.padding_idx = 0}>;
  const auto embedded = tokens + (arange<4> | nn::embedding<"wpe", 12>)+reshape<2, 4, 12>(x);
  const auto out = embedded | nn::sinusoidal_positions | blocks | nn::layer_norm<"ln">;
  return cross_entropy(reshape<8, 12>(out) | nn::tied_linear<"/wte.weight", 5>, y);
}();
// The logits of the head are never stored. The first head is in a segment, which recomputes it for its gradients. The
// second head makes its gradients in the backward pass, and shares the weight of the embedding.
constexpr nn::linear_cross_entropy_options in_forward{.label_smoothing = 0.1, .workspace = 1};
constexpr nn::linear_cross_entropy_options in_backward{.weight_gradient_in = nn::pass::backward, .workspace = 1};
constexpr auto heads_without_logits = [] {
  const auto h = ((y | nn::embedding<"wte", 12>)+x) | ckpt<"s">(mlp);
  const auto head = [](auto v, auto at) { return nn::linear_cross_entropy<"head", 70, in_forward>(tanh(v), at); };
  return ckpt<"head">(head, h, y) +
         nn::tied_linear_cross_entropy<"/wte.weight", 5, in_backward>(h, y, 1_c, mean<-1>(square(x)));
}();
constexpr auto with_indices = [] {
  const auto logits = x | ckpt<"s">(mlp) | nn::linear<"head", 5>;
  return outputs(cross_entropy(logits, y), argmax<-1>(logits), reshape<4, 2>(y));
}();

}  // namespace models
