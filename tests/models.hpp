// Small models with segments of every shape. All read x {8, 12} and y, 8 labels in [0, 5).
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
constexpr auto trailing_activation = classify(x | ckpt<"s", allow_useless>(nn::linear<"a", 17> | nn::tanh));
constexpr auto trailing_product =
    classify(x | nn::linear<"in", 9> | ckpt<"s", allow_useless>(nn::relu | nn::linear<"a", 17>));
constexpr auto elementwise_only =
    classify(x | nn::linear<"in", 33> | ckpt<"s", allow_useless>(nn::tanh | nn::sigmoid | nn::exp));
constexpr auto normalized =
    classify(x | nn::linear<"in", 7> | ckpt<"s", allow_useless>(nn::softmax | nn::linear<"a", 12>));
constexpr auto of_the_whole = classify(x | ckpt<"s">(nn::linear<"a", 31> | nn::relu | nn::linear<"b", 3> | nn::gelu));

// Several segments.
constexpr auto chain_of_two = classify(x | ckpt<"s">(mlp) | ckpt<"t">(block<"t">(mlp)));
constexpr auto repeated_residual = classify(x | repeat<4, "block">([](auto) { return ckpt<"ff">(nn::residual(mlp)); }));
constexpr auto widths = classify(
    x | repeat<3, "block">([](auto i) { return ckpt<"s", allow_useless>(nn::linear<"fc", 10 + 7 * i> | nn::gelu); }));
constexpr auto plain_between =
    classify(x | ckpt<"s">(mlp) | nn::tanh | nn::linear<"mid", 12> | ckpt<"t">(block<"t">(mlp)));
constexpr auto sequential = classify(x | ckpt_sequential<3, by_bytes>(boost::hana::make_tuple(
                                             mlp, nn::tanh, block<"b">(mlp), nn::sigmoid, block<"c">(mlp))));

constexpr auto side_by_side = classify([] {
  const auto gate = x | nn::linear<"gate", 12> | nn::softmax;
  const auto left = x | ckpt<"s", allow_useless>(nn::linear<"left", 12> | nn::tanh);
  const auto right = x | ckpt<"t", allow_useless>(nn::linear<"right", 12> | nn::sigmoid);
  return gate * left + (1_c - gate) * right;
}());
constexpr auto one_value_twice = [] {
  const auto h = x | nn::linear<"in", 12>;
  return classify(ckpt<"s">(mlp, h) * ckpt<"s">(mlp, h) + ckpt<"s">(mlp, h + h));
}();
constexpr auto nothing_recomputed =
    classify(x | nn::linear<"in", 12> |
             ckpt<"s", allow_useless>(layer([](auto h) { return h * 2_c + param<"shift", 12>; })) | nn::tanh);

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
  return classify(ckpt<"t">(gated, once, gate));
}();
constexpr auto residual_of_residual =
    classify(x | ckpt<"s">(nn::residual(nn::residual(mlp) | nn::tanh)) | nn::residual(ckpt<"t">(block<"t">(mlp))));

// Shared weights.
constexpr auto tied = classify(x | ckpt<"s">(mlp) | ckpt<"t">(mlp));
constexpr auto inside_and_outside =
    classify(x | nn::linear<"w", 12> | nn::tanh | ckpt<"s", allow_useless>(nn::linear<"w", 12> | nn::tanh) |
             nn::linear<"w", 12>);

constexpr auto inside_outside_between =
    classify(x | ckpt<"s", allow_useless>(nn::linear<"w", 12> | nn::tanh) | nn::linear<"w", 12> | nn::sigmoid |
             ckpt<"t">(nn::linear<"w", 12> | nn::gelu | ckpt<"inner", allow_useless>(nn::linear<"w", 12> | nn::tanh)));
constexpr auto shared_by_blocks =
    classify(x | repeat<3, "block">([](auto) {
               return ckpt<"s">(nn::residual(nn::linear<"/w", 12> | nn::tanh) | nn::linear<"own", 12>);
             }));
constexpr auto transposed_weight = classify(x | ckpt<"s">(layer([](auto h) {
                                              const auto w = param<"w", 12, 12>;
                                              return matmul(tanh(matmul(h, w)), transpose(w)) + tanh(h);
                                            })));

// Nesting.
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

// Several arguments and results.
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
  const auto [h2, c2] = ckpt<"cell2">(cell, h1, c1, x);
  const auto [h3, c3] = ckpt<"cell3">(cell, h2, c2, x);
  return classify(h3 + h1);
}();
constexpr auto loss_inside = [] {
  const auto of_labels = [](auto h, auto t) { return cross_entropy(tanh(h) | nn::linear<"head", 5>, t); };
  return ckpt<"s">(of_labels, x | nn::linear<"in", 12>, y);
}();
constexpr auto loss_twice = [] {
  const auto l = classify(x | ckpt<"s">(mlp));
  return l + square(l) * 0.1_c;
}();

// Parameters only, frozen parameters, detached arguments.
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
  return classify(ckpt<"s">([](auto p, auto q) { return tanh(p) * exp(q); }, h, detach(h)));
}();
constexpr auto frozen_weights = classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
                                           return gelu(matmul(tanh(h), transpose(frozen<"f", 17, 12>))) |
                                                  ckpt<"t", allow_useless>(nn::linear<"w", 12> | nn::tanh);
                                         })));
constexpr auto detached_between = [] {
  const auto h = ckpt<"s">(mlp, x | nn::linear<"in", 12>);
  return classify(ckpt<"t">(block<"t">(mlp), detach(h)) * h);
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
// Policies: of blocks, of a segment in another, of products of batches, through views.
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
constexpr auto centered = classify(x | nn::linear<"in", 12> | ckpt<"norm", allow_useless>(layer([](auto h) {
                                     const auto c = h - mean<-1>(h, keepdim);
                                     return c / sqrt(mean<-1>(square(c), keepdim) + 1e-5_c);
                                   })) |
                                   nn::linear<"mid", 12> | nn::relu);
// Products with more than one block of depth and with one, beside values that can be written over, and weights used
// thrice, whose gradients are added up as products make them.
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
constexpr auto over_axes = classify(x | nn::linear<"in", 12> | ckpt<"s">(layer([](auto h) {
                                      const auto t = reshape<8, 3, 4>(h);
                                      const auto c =
                                          exp(t - mean<0, 2>(t, keepdim)) / (sum<1>(square(t), keepdim) + 1_c);
                                      return reshape<8, 12>(c * mean(c)) + mean<0>(h, keepdim);
                                    })));
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
// Layers that read all earlier values (Huang et al., Densely Connected Convolutional Networks, 2017): what they are
// joined to is made again in backward.
inline constexpr auto of_all = [](auto... earlier) {
  return concatenate<1>(earlier...) | nn::softmax | nn::linear<"fc1", 20> | nn::gelu | nn::linear<"fc2", 7>;
};
constexpr auto densely_connected = [] {
  const auto a = x | nn::linear<"in", 5>;
  const auto b = ckpt<"l1">(block<"l1">(of_all), x, a);
  const auto c = ckpt<"l2">(block<"l2">(of_all), x, a, b);
  const auto d = ckpt<"l3">(block<"l3">(of_all), x, a, b, c);
  const auto e = ckpt<"l4">(block<"l4">(of_all), x, a, b, c, d);
  return classify(concatenate<-1>(a, b, c, d, e));
}();
// One product for all gates, and the same weights at each step.
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
  const auto [h2, c2] = ckpt<"t2">(lstm_cell, slice<1, 4, 8>(x), h1, c1);
  const auto [h3, c3] = ckpt<"t3">(lstm_cell, slice<1, 8, 12>(x), h2, c2);
  return classify(concatenate<0>(slice<0, 4>(h3), slice<0, 0, 4>(h1 * c3)));
}();
// Gradients as values: a penalty on one through nested segments, and one inside of a segment.
constexpr auto penalized = [] {
  const auto loss = classify(x | nn::linear<"in", 12> | ckpt<"outer">(ckpt<"inner">(mlp) | nn::tanh | attend));
  return loss + 0.1_c * sum(square(grad(loss, x)));
}();
inline constexpr auto energy = nn::linear<"e1", 17> | nn::tanh | nn::linear<"e2", 3>;
inline constexpr auto lower = layer([](auto h) { return h - 0.3_c * grad(sum(log(1_c + exp(energy(h)))), h); });
constexpr auto descended =
    classify(x | nn::linear<"in", 12> | repeat<2, "block">([](auto) { return ckpt<"s">(lower); }));
constexpr auto with_outputs = [] {
  const auto logits = x | ckpt<"s">(mlp) | nn::linear<"head", 5>;
  return outputs(cross_entropy(logits, y), accuracy(logits, y), logits);
}();

// Random operations.
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

// State, which a step updates.
inline constexpr auto normalizing_mlp = nn::linear<"fc1", 20> | nn::batch_norm<"bn"> | nn::gelu | nn::linear<"fc2", 12>;
constexpr auto batch_normalized =
    classify(x | repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(normalizing_mlp)); }));
constexpr auto batch_normalized_in_nested =
    classify(x | ckpt<"outer">(ckpt<"inner">(normalizing_mlp) | nn::tanh | nn::batch_norm<"outer">));

}  // namespace models
