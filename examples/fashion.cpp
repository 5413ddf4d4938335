// Trains the README's network on Fashion-MNIST: its memory and time beside those without ckpt, then five epochs of
// AdamW, on all cores.
#include <exception>

#include "training.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;

// The batch size is a parameter of the inputs alone: 128 to train, 100 to test, for all 10,000 are to be
// counted.
template <int B>
constexpr auto logits = input<"images", B, 784> | model;
template <int B>
constexpr auto classes = labels<"classes", 10, B>;
constexpr int batch = 128, test_batch = 100;

constexpr auto loss = cross_entropy(logits<batch>, classes<batch>);

// The table of memory is that of one thread.
constexpr int most_threads = 64;
using train_step = program<loss, training::at_most<most_threads>>;
using plain_step = program<loss, plain, training::at_most<most_threads>>;

}  // namespace

int main(int argc, char** argv) try {
  const auto given = training::read(argc, argv,
                                    {.name = "fashion",
                                     .about = "Trains a network of 8 checkpointed residual blocks on Fashion-MNIST.",
                                     .epochs = 5,
                                     .lr = 5e-4,
                                     .threads = training::cores(most_threads)});
  const auto set = data::fashion_mnist(given.data);
  const auto [x, y] = *data::batches<batch>(set.train).begin();
  training::compare<program<loss>, program<loss, plain>, train_step, plain_step>(given, bind<"images">(x),
                                                                                 bind<"classes">(y));
  train_step step;
  double rate = 0;
  const auto run = [](train_step& trained, const auto& images, const auto& truth) {
    return trained.value_and_grad(bind<"images">(images), bind<"classes">(truth));
  };
  training::train<batch>(step, given, set.train, run, [&](train_step& trained) {
    rate = training::accuracy_of<accuracy(logits<test_batch>, classes<test_batch>), test_batch>(trained, set.test);
    std::printf("test accuracy %.2f %%\n", rate);
  });
  std::printf("test accuracy: %.2f %%\n", rate);
} catch (const std::exception& e) {
  std::cerr << "fashion: " << e.what() << '\n';
  return 1;
}
