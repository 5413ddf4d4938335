// Trains the network of quickstart.cpp in several processes: mpirun -n 2 build/examples/cluster. The parameters have the
// same bits in the end as if one process had trained them.
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/data/shards.hpp>
#include <cairn/mpi.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <ranges>
#include <string_view>

using namespace cairn;
constexpr int rows = 16;  // rows of a shard; a training step has eight shards
constexpr auto images = input<"images", rows, 784>;
constexpr auto classes = labels<"classes", 10, rows>;
constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto loss = cross_entropy(images | nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>, classes);

using trainer = program<loss, update<adamw_options{.lr = 5e-4}>, shards<8>>;  // MPI is not in the type
// Each of two processes sends half of its gradients, and half of the summed ones.
static_assert(trainer::traffic(2).gradient_bytes == trainer::memory().gradient_bytes);

constexpr int steps = 20;

/// Trains, and returns the loss of the last training step.
float train(trainer& step, const data::train_and_test& set) {
  step.init(seed{42});
  float last = 0;
  for (auto batch : data::shards<8>(data::batches<rows>(set.train, seed{42}, 0)) | std::views::take(steps))
    last = step.train([&](int s) {  // each process gathers its own shards
      return inputs(bind<"images">(batch[s].images), bind<"classes">(batch[s].labels));
    });
  return last;
}
std::size_t hash_of_parameters(trainer& step) {
  const auto bytes = std::as_bytes(step.parameters());
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int main(int count, char** arguments) try {
  mpi::ranks all{count, arguments};
  const auto set = data::fashion_mnist();
  trainer step{all};
  const auto begin = std::chrono::steady_clock::now();
  const float last = train(step, set);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  const int own = 8 / all.size();
  const std::size_t hash = hash_of_parameters(step);
  std::printf("rank %d of %d: shards %d to %d, loss %.4f, per step %.1f ms and %.1f MiB sent, parameters %016zx\n",
              all.rank(), all.size(), own * all.rank(), own * (all.rank() + 1) - 1, static_cast<double>(last),
              time.count() / steps, static_cast<double>(trainer::traffic(all.size()).bytes) / (1 << 20), hash);
  if (all.rank() > 0) return 0;
  trainer alone;
  train(alone, set);
  const bool is_same = hash_of_parameters(alone) == hash;
  std::printf("one process: parameters %016zx, %s bits\n", hash_of_parameters(alone), is_same ? "the same" : "other");
  return is_same ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
