// A training run of several processes, for tests/tools/ranks.py: train FILE [from OTHER_FILE] [steps N].
//
// The run trains a model and saves it. The file must have the same bytes for any number of processes and threads.
#include <cairn/cairn.hpp>
#include <cairn/file/saving.hpp>
#include <cairn/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace cairn;

constexpr int rows = 4, features = 40, wide = 301, classes = 5, parts = 16;
constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
constexpr auto x = input<"x", rows, features>;
constexpr auto y = labels<"y", classes, rows>;
constexpr auto inner = nn::linear<"fc", wide> | nn::gelu | nn::dropout<"drop", 0.25>;
constexpr auto blocks = repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); });
constexpr auto logits = x | nn::linear<"in", wide> | nn::batch_norm<"bn", local> | blocks | nn::linear<"out", classes>;
constexpr auto loss =
    outputs(cross_entropy<nn::cross_entropy_options{.ignore_index = 0}>(logits, y), accuracy(logits, y));

#ifdef MIXED
using trainer = program<loss, update<adamw_options{.lr = 0.01}>, clip<0.5>, shards<8>, microbatch<2>,
                        mixed<bf16, stochastic_rounding>, check_finite, threads<2>>;
#else
using trainer =
    program<loss, update<adamw_options{.lr = 0.01}>, clip<0.5>, shards<8>, microbatch<2>, check_finite, threads<2>>;
#endif

struct batch {
  std::vector<float> x = std::vector<float>(parts * rows * features);
  std::vector<std::int32_t> y = std::vector<std::int32_t>(parts * rows);
  explicit batch(std::int64_t number) {
    random_sequence draw(seed{11}, static_cast<std::uint64_t>(number));
    for (float& value : x) value = 3 * uniform(draw()) - 1;
    for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(classes));
  }
};

}  // namespace

int main(int count, char** words) {
  mpi::ranks all{count, words};
  trainer step{all};
  step.init(seed{42});
  int steps = 6;
  for (int i = 2; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "from") == 0) step.load(words[i + 1]);
    else steps = std::atoi(words[i + 1]);
  }
  while (step.steps() < steps) {
    const batch b(step.steps());
    const auto [l, right] = step.train(bind<"x">(b.x), bind<"y">(b.y));
    if (all.rank() == 0)
      std::printf("step %d: loss %.9g, accuracy %.9g\n", static_cast<int>(step.steps()), double(l), double(right));
  }
  step.save(words[1]);
}
