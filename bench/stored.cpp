// Nine models for stored.py, which has the same models in PyTorch. For each model, the program prints its graph and the
// bytes that a training step without ckpt stores, as lines of text.
#include <cairn/cairn.hpp>
#include <iostream>

using namespace cairn;

namespace {

// The README's network.
constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto readme =
    input<"x", 128, 784> | nn::linear<"embed", 256> | repeat<8, "b">([](auto) { return nn::residual(feed_forward); });

constexpr auto rows = input<"x", 128, 64>;
constexpr auto mlp =
    rows | nn::linear<"1", 128> | nn::gelu | nn::linear<"2", 128> | nn::tanh | nn::linear<"3", 64> | nn::gelu;

constexpr auto elementwise = layer([](auto x) {
  const auto y = tanh(x) * param<"a", 64> + sigmoid(x * param<"b", 64>);
  return exp(-y) * y + sqrt(square(y) + 1_c) / (1_c + square(x));
});
constexpr auto chain = rows | repeat<3, "b">([](auto) { return nn::linear<"in", 64> | elementwise; });

template <fixed_string Name>
constexpr auto heads =
    layer([](auto x) { return transpose<0, 2, 1, 3>(reshape<4, 32, 4, 16>(x | nn::linear<Name, 64>)); });
constexpr auto attend = layer([](auto x) {
  const auto weights = softmax(matmul(x | heads<"q">, transpose<0, 1, 3, 2>(x | heads<"k">)) * 0.25_c);
  return reshape<4, 32, 64>(transpose<0, 2, 1, 3>(matmul(weights, x | heads<"v">))) | nn::linear<"out", 64>;
});
constexpr auto attended = reshape<128, 64>(reshape<4, 32, 64>(rows | nn::linear<"in", 64>) |
                                           repeat<2, "b">([](auto) { return nn::residual(attend); }));

template <int Steps>
constexpr auto unrolled() {
  if constexpr (Steps == 0) {
    return std::tuple{zeros<128, 64>, zeros<128, 64>};
  } else {
    const auto [h, c] = unrolled<Steps - 1>();
    const auto x = slice<1, 16 * Steps - 16, 16 * Steps>(rows);
    const auto z = matmul(x, param<"x", 16, 256>) + matmul(h, param<"h", 64, 256>) + param<"bias", 256>;
    const auto i = sigmoid(slice<1, 0, 64>(z));
    const auto f = sigmoid(slice<1, 64, 128>(z));
    const auto g = tanh(slice<1, 128, 192>(z));
    const auto o = sigmoid(slice<1, 192, 256>(z));
    const auto next = f * c + i * g;
    return std::tuple{o * tanh(next), next};
  }
}
constexpr auto lstm = std::get<0>(unrolled<4>());

constexpr auto batch_norm = layer([](auto x) {
  const auto centered = x - mean<0>(x);
  return centered / sqrt(mean<0>(square(centered)) + 1e-5_c) * param<"scale", 64> + param<"shift", 64>;
});
constexpr auto normed = rows | repeat<3, "b">([](auto) { return nn::linear<"in", 64> | batch_norm | nn::relu; });

constexpr auto silu = layer([](auto x) { return x * sigmoid(x); });
constexpr auto residual =
    rows | repeat<3, "b">([](auto) { return nn::residual(nn::linear<"fc1", 256> | silu | nn::linear<"fc2", 64>); });

constexpr auto layer_norm = layer([](auto x) {
  const auto centered = x - mean<-1>(x, keepdim);
  return centered / sqrt(mean<-1>(square(centered), keepdim) + 1e-5_c) * param<"scale", 64> + param<"shift", 64>;
});
constexpr auto pre_norm = rows | nn::linear<"in", 64> | repeat<3, "b">([](auto) {
                            return nn::residual(layer_norm | nn::linear<"fc1", 256> | nn::gelu | nn::linear<"fc2", 64>);
                          });

constexpr auto dense_layer = layer([](auto x) { return concatenate<-1>(x, x | nn::linear<"fc", 32> | nn::relu); });
constexpr auto dense =
    rows | block<"1">(dense_layer) | block<"2">(dense_layer) | block<"3">(dense_layer) | block<"4">(dense_layer);

/// Prints a line for each value of the forward pass: its number, its sort, whether the backward pass reads it, its
/// bytes and its arguments.
template <class Plan>
void print(const char* name) {
  constexpr const auto& d = Plan::gradient;
  constexpr const auto& need = Plan::needs;
  constexpr memory_plan m = detail::memory_in<Plan>;
  bool read[std::size(d.nodes)] = {};
  for (int v = d.turn; v < d.node_count; ++v) {
    for (int i = 0; need.live[v] && i < d.op(v).argument_count; ++i) read[d.argument(v, i)] = true;
  }
  std::cout << "model " << name << ' ' << m.stored_bytes << ' ' << m.peak_bytes << '\n';
  for (int v = 0; v < d.turn; ++v) {
    const graphs::role what = d.op(v).what;
    const bool free = graphs::is_leaf(what) || need.made_of_constants[v] || need.output[need.view_root[v]];
    const bool kernel = d.op(v).result_count > 1 || what == graphs::role::kernel, view = what == graphs::role::view;
    std::cout << v
              << (free     ? " free "
                  : view   ? " view "
                  : kernel ? " kernel "
                           : " again ")
              << read[v] << ' ' << d.result(v).bytes;
    for (int i = 0; i < d.op(v).argument_count; ++i) std::cout << ' ' << d.argument(v, i);
    std::cout << '\n';
  }
}
template <auto Net>
void measure(const char* name) {
  constexpr auto loss = cross_entropy(Net | nn::linear<"head", 10>, labels<"y", 10, 128>);
  print<detail::compiled_of<loss, true, plain>>(name);
}

}  // namespace

int main() {
  measure<readme>("README's network");
  measure<mlp>("gelu and tanh");
  measure<chain>("elementwise chain");
  measure<attended>("attention");
  measure<lstm>("LSTM, 4 steps");
  measure<normed>("batch norm, relu");
  measure<residual>("residual, silu");
  measure<pre_norm>("layer norm, gelu");
  measure<dense>("dense, concatenate");
}
