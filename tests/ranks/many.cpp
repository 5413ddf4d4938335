// A tiny model with shards<1024>, for tests/tools/simulated.py: many FILE RANKS. Processes of SimGrid's MPI train it and
// save FILE. The file must have the same bits for any number of processes. RANKS is 0 for a program of one process.
#include <cairn/cairn.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/mpi.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cairn;

constexpr int shard_count = 1024, features = 24, wide = 600, classes = 5;
constexpr auto x = input<"x", 1, features>;
constexpr auto y = labels<"y", classes, 1>;
constexpr auto logits = x | nn::linear<"fc1", wide> | nn::gelu | nn::dropout<"drop", 0.25> | nn::linear<"fc2", 40> |
                        nn::gelu | nn::linear<"fc3", classes>;
constexpr auto loss = cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(logits, y);
using trainer = program<loss, update<adamw_options{.lr = 0.01}>, clip<0.5>, shards<shard_count>, check_finite>;

void train(trainer& step, const std::string& file, bool prints) {
  std::vector<float> images(shard_count * features);
  std::vector<std::int32_t> labels(shard_count);
  step.init(seed{42});
  while (step.steps() < 3) {
    random_sequence draw(seed{11}, static_cast<std::uint64_t>(step.steps()));
    for (float& value : images) value = 3 * uniform(draw()) - 1;
    for (std::int32_t& label : labels) label = static_cast<std::int32_t>(draw.below(classes));
    const float l = step.train(bind<"x">(images), bind<"y">(labels));
    if (prints) std::printf("step %d: loss %.9g\n", static_cast<int>(step.steps()), static_cast<double>(l));
  }
  step.save(file);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string file = arguments[1];
  if (std::string(arguments[2]) == "0") {
    trainer step;
    train(step, file, true);
    return 0;
  }
  mpi::ranks all{count, arguments};
  trainer step{all};
  train(step, file, all.rank() == 0);
  if (all.rank() == 0)
    std::printf("%d processes, %lld bytes sent by each in a step\n", all.size(),
                static_cast<long long>(trainer::traffic(all.size()).bytes));
}
