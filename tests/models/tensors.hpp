// Models with views, products with leading axes, and reductions.
#pragma once

#include "parts.hpp"

namespace models {

constexpr auto attention = classify(x | nn::linear<"in", 12> | ckpt<"attention">(attend) | nn::tanh);
// Heads that share keys, with random numbers that the backward pass draws again. Norms stand before or after the
// branches.
constexpr auto transformer = classify(reshape<8, 12>(
    reshape<2, 4, 12>(x | nn::linear<"in", 12>) | repeat<2, "layers">([](auto) {
      constexpr nn::transformer_options first{16, true, true, 1, 0.1}, last{16, false};
      return ckpt<"first">(block<"first">(nn::transformer_block<3, first>)) |
             ckpt<"last", save_matmuls, allow_useless>(block<"last">(nn::transformer_block<2, last, nn::relu>));
    })));
// A gradient of attention's gradient, with all options of attention. There are more keys than a tile has.
constexpr auto attention_penalized = [] {
  const auto found = [](auto h) {
    const auto q = reshape<1, 100, 2, 2>(h | nn::linear<"q", 4>);
    const auto k = reshape<1, 100, 1, 2>(h | nn::linear<"k", 2>);
    const auto v = reshape<1, 100, 1, 3>(h | nn::linear<"v", 3>);
    return reshape<8, 75>(nn::attention<"drop", 0.2>(q, k, v, param<"mask", 2, 1, 100>, nn::causal));
  };
  const auto tokens = reshape<100, 2>(x | nn::linear<"in", 25>);
  const auto loss = classify(tokens | ckpt<"attention">(layer(found)) | nn::tanh);
  return loss + 0.1_c * sum(square(grad(loss, x)));
}();
constexpr auto centered = classify(x | nn::linear<"in", 12> | ckpt<"norm", allow_useless>(layer([](auto h) {
                                     const auto c = h - mean<-1>(h, keepdim);
                                     return c / sqrt(mean<-1>(square(c), keepdim) + 1e-5_c);
                                   })) |
                                   nn::linear<"mid", 12> | nn::relu);
// Products with several cache blocks of depth and with one, next to values that can be written over. The weights are
// used three times, and the products add up the gradients of the weights.
constexpr auto deep_products = classify(x | nn::linear<"in", 801> | ckpt<"s">(layer([](auto h) {
                                          const auto w = param<"w", 801, 31>;
                                          const auto low = softmax(matmul(tanh(h), w)) + matmul(h, w);
                                          return matmul(relu(low), transpose(w)) * softmax(h) + h;
                                        })));
constexpr auto linear_attention =
    classify(x | nn::linear<"in", 12> | ckpt<"outer">(layer([](auto h) {
               const auto summed = [](auto k, auto v) { return matmul(transpose(softmax<0>(k)), v); };
               const auto s = ckpt<"inner", allow_useless>(summed, h | nn::linear<"k", 7>, h | nn::linear<"v", 12>);
               return matmul(softmax(h | nn::linear<"q", 7>), s) + matmul(h, transpose(matmul(transpose(s), s)));
             })));
// Ridge regressions of features, with the factor of their covariances. Both decompositions run again in backward.
constexpr auto linear_systems =
    classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
               const auto t = reshape<8, 3, 4>(tanh(h));
               const auto covariance = matmul(t, transpose(t)) + one_hot(arange<3>);
               return reshape<8, 12>(solve(covariance, t) + matmul(cholesky(covariance), t));
             })));
constexpr auto over_axes = classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
                                      const auto t = reshape<8, 3, 4>(h);
                                      const auto c =
                                          exp(t - mean<0, 2>(t, keepdim)) / (sum<1>(square(t), keepdim) + 1_c);
                                      return reshape<8, 12>(c * mean(c)) + mean<0>(h, keepdim);
                                    })));
// Reductions that are written in the language, next to axes that are stretched, repeated, added and removed.
constexpr auto stretched =
    classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
               const auto scale = logsumexp<-1>(h, keepdim) / (vector_norm<0>(h) + stddev(h));
               const auto row = squeeze<0>(unsqueeze<0>(mean<0>(mish(h))));
               const auto steps = floor(h * 3_c) + ceil(elu(h)) * round(h * 2_c);
               return masked_fill(scale * tile<1, 2>(slice<1, 0, 6>(h)), h > 0.5_c, 0.1_c) * steps +
                      expand<8, 12>(row) * gelu_tanh(h) + hardswish(h) * hardsigmoid(h);
             })));
// Losses that compare rows. Both arguments have gradients.
constexpr auto compared = [] {
  const auto losses = [](auto h, auto v, auto at) {
    const auto sides = generated<8>([](int i) { return i % 2 == 0 ? 1.0 : -1.0; });
    return kl_div(log_softmax(h), softmax(v)) + soft_cross_entropy(v, softmax(h)) + nll_loss(log_softmax(v), at) +
           cosine_embedding_loss(h, v, sides) + triplet_loss(h, v, h * v);
  };
  return ckpt<"s">(losses, x | nn::linear<"first", 5>, tanh(x | nn::linear<"other", 5>), y);
}();
constexpr auto ties = classify(x | nn::linear<"in", 12> | ckpt<"s", allow_useless>(layer([](auto h) {
                                 return maximum(h, mean<-1>(h, keepdim)) + log(maximum(relu(h), 0.1_c));
                               })));
constexpr auto leading_axes =
    classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
               const auto t = transpose<1, 0, 2>(reshape<8, 3, 4>(tanh(h)));
               const auto scores = log_softmax(matmul(t, param<"each", 3, 4, 4>));
               return reshape<8, 12>(transpose<1, 2, 0>(scores * matmul(t, transpose(param<"all", 4, 4>))));
             })));
constexpr auto row_between = [] {
  const auto h = x | nn::linear<"in", 12>;
  const auto row = ckpt<"row", allow_useless>([](auto p) { return tanh(mean<0>(square(p))); }, h);
  return classify(ckpt<"s", allow_useless>([](auto p, auto r) { return gelu(p * r) | nn::linear<"w", 12>; }, h, row) *
                  row);
}();
// Layers that read all earlier values (Huang et al., Densely Connected Convolutional Networks, 2017). The backward
// pass recomputes the concatenation and its normalization. Running statistics are updated only once (Pleiss et al.,
// Memory-Efficient Implementation of DenseNets, 2017).
inline constexpr auto of_all = [](auto... earlier) {
  return concatenate<1>(earlier...) | nn::batch_norm<"norm1"> | nn::tanh | nn::linear<"fc1", 20> |
         nn::batch_norm<"norm2"> | nn::gelu | nn::linear<"fc2", 7>;
};
constexpr auto densely_connected = [] {
  const auto a = x | nn::linear<"in", 5>;
  const auto b = ckpt<"l1">(block<"l1">(of_all), x, a);
  const auto c = ckpt<"l2">(block<"l2">(of_all), x, a, b);
  const auto d = ckpt<"l3">(block<"l3">(of_all), x, a, b, c);
  const auto e = ckpt<"l4">(block<"l4">(of_all), x, a, b, c, d);
  return classify(concatenate<-1>(a, b, c, d, e));
}();
// One product computes all gates. All iterations share the weights.
inline constexpr auto lstm_cell = [](auto in, auto h, auto c) {
  const auto gates = concatenate<1>(in, h) | nn::linear<"gates", 36>;
  const auto kept = sigmoid(slice<1, 0, 9>(gates)) * c;
  const auto next = kept + sigmoid(slice<1, 9, 18>(gates)) * tanh(slice<1, 18, -9>(gates));
  return std::tuple{sigmoid(slice<1, -9>(gates)) * tanh(next), next};
};
constexpr auto lstm = [] {
  const auto h = x | nn::linear<"h", 9> | nn::tanh;
  const auto c = x | nn::linear<"c", 9>;
  const auto [h1, c1] = ckpt<"t1">(lstm_cell, slice<1, 0, 4>(x), h, c);
  const auto [h2, c2] = ckpt<"t2">(shared(lstm_cell), slice<1, 4, 8>(x), h1, c1);
  const auto [h3, c3] = ckpt<"t3">(shared(lstm_cell), slice<1, 8, 12>(x), h2, c2);
  return classify(concatenate<0>(slice<0, 4>(h3), slice<0, 0, 4>(h1 * c3)));
}();
// Layers of cells that pass on both values. Each cell is a segment. Further cells are stacked within one segment,
// which returns a tuple.
inline constexpr auto peephole_cell = [](auto h, auto c) {
  const auto kept = sigmoid(concatenate<1>(h, c) | nn::linear<"gate", 9>) * c + tanh(h | nn::linear<"new", 9>);
  return std::tuple{tanh(kept) * h, kept};
};
constexpr auto stacked_cells = [] {
  const auto h0 = x | nn::linear<"h", 9> | nn::tanh;
  const auto c0 = x | nn::linear<"c", 9>;
  const auto [h, c] = repeat<2, "layer">([](auto) { return ckpt<"cell">(peephole_cell); }, h0, c0);
  const auto again = repeat<2, "more">([](auto) { return peephole_cell; });
  const auto [a, b] = ckpt<"stack">(again, h, c);
  return classify(concatenate<1>(a, b * c));
}();
// Applications of a stencil along both axes. Three of them are segments and three are not. A value must be complete
// before a map reads it.
inline constexpr auto diffused = [](auto u) {
  const auto around = roll<0, 1>(u) + roll<0, -1>(u);
  const auto along = nn::shift<1, 1>(u) - nn::shift<1, -1, nn::edge::nearest>(u);
  return u + 0.1_c * (around - 2_c * u) - 0.05_c * u * along;
};
constexpr auto stencils = [] {
  const auto segments = repeat<3, "t">([](auto) { return ckpt<"step">(layer(diffused)); });
  const auto free = repeat<3, "more">([](auto) { return layer(diffused); });
  const auto u = x | nn::linear<"in", 9> | nn::tanh | segments | free;
  return classify(matmul(roll<0, 3>(u), param<"w", 9, 9>) + nn::shift<0, -2, nn::edge::nearest>(roll<1, 4>(u)));
}();
// Constant arrays that fused loops, a product and a map read, in nested segments.
constexpr auto masked = [] {
  const auto attend_before = [](auto h, auto decay) {
    const auto scores = matmul(h, transpose(h)) * decay + causal_mask<8>;
    return ckpt<"mix">([](auto s, auto v) { return matmul(softmax(s), gelu(v)); }, scores, h | nn::linear<"v", 12>);
  };
  const auto decay = generated<8, 8>([](int i, int j) { return 1.0 / (1 + i + j); });
  const auto position = as_real(reshape<8, 1>(arange<8>)) * generated<12>([](int i) { return 0.01 * i; });
  const auto mixed = ckpt<"s">(attend_before, (x | nn::linear<"in", 12>)+position, decay);
  const auto turned = matmul(generated<8, 8>([](int i, int j) { return i + j == 7; }), mixed);
  return classify(turned + zeros<8, 12> * mean(transpose(decay) * param<"w", 8, 1>));
}();
constexpr auto with_outputs = [] {
  const auto logits = x | ckpt<"s">(mlp) | nn::linear<"head", 5>;
  return outputs(cross_entropy(logits, y), accuracy(logits, y), logits);
}();

}  // namespace models
