// Tunes a trained network by adapters. The network learns Fashion-MNIST. Then the same images come upside down, and only
// adapters of rank 8 are trained.
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>
#include <cstdio>

using namespace cairn;

namespace {

template <int B>
constexpr auto images = input<"images", B, 784>;
template <int B>
constexpr auto upside_down = flip<1>(images<B>);
template <int B>
constexpr auto classes = labels<"classes", 10, B>;

// `adapted` makes a layer of each linear layer.
constexpr auto model = [](auto adapted) {
  return adapted(nn::linear<"fc1", 256>) | nn::relu | adapted(nn::linear<"fc2", 256>) | nn::relu |
         adapted(nn::linear<"fc3", 10>);
};
constexpr auto plain_model = model([](auto linear) { return linear; });
constexpr auto tuned_model = model([](auto linear) { return nn::lora<8, 16>(linear); });

void train(auto& step, const data::dataset& set, double lr) {
  adamw optimizer{step, {.lr = lr}};
  for (auto [x, y] : data::batches<128>(set, seed{1}, 0)) {
    static_cast<void>(step.value_and_grad(bind<"images">(x), bind<"classes">(y)));
    optimizer.update();
  }
}
/// Prints the accuracy over a test set. `Logits` are those of 100 images.
template <auto Logits>
void judge(const char* what, auto& step, const data::dataset& set) {
  predictor<accuracy(Logits, classes<100>)> rate{step};
  sample_mean right;
  for (auto [x, y] : data::batches<100>(set)) right.add(rate(bind<"images">(x), bind<"classes">(y)), 100);
  std::printf("%s: accuracy %.1f %%\n", what, 100 * right.value());
}

}  // namespace

int main() {
  const auto set = data::fashion_mnist();
  program<cross_entropy(images<128> | plain_model, classes<128>)> pretrained;
  pretrained.init(seed{1});
  train(pretrained, set.train, 1e-3);
  judge<images<100> | plain_model>("trained", pretrained, set.test);
  judge<upside_down<100> | plain_model>("upside down", pretrained, set.test);

  program<cross_entropy(upside_down<128> | tuned_model, classes<128>)> tuned;
  tuned.init(seed{2});  // the adapters: A is drawn, and B is zero
  tuned.set(bind<"fc1.base_layer.weight">(pretrained.param<"fc1.weight">()),
            bind<"fc1.base_layer.bias">(pretrained.param<"fc1.bias">()),
            bind<"fc2.base_layer.weight">(pretrained.param<"fc2.weight">()),
            bind<"fc2.base_layer.bias">(pretrained.param<"fc2.bias">()),
            bind<"fc3.base_layer.weight">(pretrained.param<"fc3.weight">()),
            bind<"fc3.base_layer.bias">(pretrained.param<"fc3.bias">()));
  std::size_t trained = 0, all = 0;
  tuned.for_each_gradient([&](auto, auto view) { trained += view.size(); });
  tuned.for_each_parameter([&](auto, auto view) { all += view.size(); });
  std::printf("%zu of %zu parameters are trained\n", trained, all);
  judge<upside_down<100> | tuned_model>("upside down, before tuning", tuned, set.test);
  train(tuned, set.train, 2e-3);
  judge<upside_down<100> | tuned_model>("upside down, after tuning", tuned, set.test);
}
