// Trains the README's network on Fashion-MNIST. First compares its memory and time with a program without ckpt. Then
// trains five epochs with AdamW in the training step, on all cores.
#include "images.hpp"

using namespace cairn;

namespace {

using training::batch, training::test_batch;

constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;

// Only the inputs depend on the batch size. It is 128 for training and 100 for tests, because 100 divides the 10,000
// images of the test set.
template <int B>
constexpr auto logits = input<"images", B, 784> | model;
template <int B>
constexpr auto classes = labels<"classes", 10, B>;

constexpr auto loss = cross_entropy(logits<batch>, classes<batch>);

// The table of memory shows a program for one thread.
constexpr int most_threads = 64;
template <class... Options>
using step_with = program<loss, update<adamw_options{}>, Options...>;
using train_step = step_with<training::at_most<most_threads>>;
using plain_step = step_with<plain, training::at_most<most_threads>>;

}  // namespace

int main(int argc, char** argv) {
  constexpr auto rate = accuracy(logits<test_batch>, classes<test_batch>);
  return training::classify<rate, train_step, plain_step, step_with<>, step_with<plain>>(
      argc, argv,
      {.name = "fashion",
       .about = "Trains a network of 8 checkpointed residual blocks on Fashion-MNIST.",
       .epochs = 5,
       .lr = 5e-4,
       .threads = training::cores(most_threads)});
}
