// Compares the ways to make a step fit, on one model: GPT-2 with 124 million parameters, a window of 1,024 tokens,
// AdamW in the step, one thread. The last two forms train on four windows, in one batch and in four microbatches. The
// program prints the bytes and the work of each form, and the processor seconds of a step, which other programs disturb
// less than they disturb a clock. The forms take turns. Each turn begins with a new program, so that only one program is
// in memory at a time.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <string_view>
#include <vector>

#include "../examples/gpt2.hpp"

using namespace cairn;

namespace {

constexpr int length = 1024, rounds = 3;
constexpr auto loss = gpt2::loss<gpt2::tokens, 1, length>;
constexpr auto no_logits = gpt2::head_without_logits<gpt2::tokens>;
constexpr auto no_logits_in_backward =
    nn::tied_linear_cross_entropy<"/wte.weight", gpt2::tokens,
                                  nn::linear_cross_entropy_options{.weight_gradient_in = nn::pass::backward,
                                                                   .workspace = 8_MiB}>;
/// The feed-forward layers run on four groups of rows. Attention is a segment.
constexpr auto in_groups = repeat<gpt2::blocks, "h">([](auto) {
  constexpr auto feed_forward = layer([](auto x) {
    constexpr auto normed = nn::layer_norm<"ln_2"> | block<"mlp">(gpt2::feed_forward);
    const auto rows = reshape<x.shape[0] * x.shape[1], gpt2::width>(x);
    return reshape<x.shape[0], x.shape[1], gpt2::width>(nn::tiled<4>(normed, rows));
  });
  return ckpt<"attention">(nn::residual(nn::layer_norm<"ln_1"> | block<"attn">(gpt2::self_attention))) |
         nn::residual(feed_forward);
});
template <auto Head, auto Trunk = gpt2::trunk>
constexpr auto loss_with = gpt2::loss<gpt2::tokens, 1, length, Head, Trunk>;
template <auto Loss, class... Options>
using step_of = program<Loss, update<adamw_options{.lr = 1e-4}>, Options...>;
template <class... Options>
using step_with = step_of<loss, Options...>;

constexpr int windows = 4;
constexpr auto loss_of_windows = gpt2::loss<gpt2::tokens, windows, length>;

std::vector<std::int32_t> drawn(std::uint64_t number) {
  random_sequence random(seed{1}, number);
  std::vector<std::int32_t> out(windows * length);
  for (std::int32_t& token : out) token = static_cast<std::int32_t>(random.below(gpt2::tokens));
  return out;
}

/// Returns the processor seconds of a step, after one step that is not timed.
template <class Step>
double seconds_of(std::span<const std::int32_t> text, std::span<const std::int32_t> next) {
  Step step;
  step.init(seed{1});
  step.train(bind<"text">(text), bind<"next">(next));
  const std::clock_t begin = std::clock();
  step.train(bind<"text">(text), bind<"next">(next));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

struct form {
  std::string_view name;
  memory_plan memory;
  flop_counts work;
  double (*run)(std::span<const std::int32_t>, std::span<const std::int32_t>);
  int windows;
  std::vector<double> seconds = {};

  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};
template <class Step>
form form_of(std::string_view name, int windows = 1) {
  return {name, Step::memory(), Step::flops(), seconds_of<Step>, windows};
}

}  // namespace

int main() {
  form forms[] = {
      form_of<step_with<plain>>("plain"),
      form_of<step_with<>>("ckpt around each block"),
      form_of<step_with<plain, fit<500_MiB>>>("fit<500_MiB>"),
      form_of<step_of<loss_with<no_logits>>>("ckpt, no logits"),
      form_of<step_of<loss_with<no_logits_in_backward>>>("same, in backward"),
      form_of<step_of<loss_with<no_logits, in_groups>>>("no logits, tiled<4>"),
      form_of<step_with<plain, mixed<bf16>>>("plain, mixed<bf16>"),
      form_of<step_with<mixed<bf16>>>("ckpt, mixed<bf16>"),
      form_of<step_of<loss_of_windows>>("4 windows, ckpt", windows),
      form_of<step_with<microbatch<windows>>>("4 windows, microbatch<4>", windows),
  };
  const auto text = drawn(0), next = drawn(1);
  for (int round = 0; round < rounds; ++round) {
    for (form& one : forms) {
      const auto tokens = static_cast<std::size_t>(one.windows * length);
      one.seconds.push_back(one.run(std::span(text).first(tokens), std::span(next).first(tokens)));
    }
  }
  std::printf("%-24s%12s%12s%12s%12s%10s\n", "form", "stored MiB", "arena MiB", "in all MiB", "work GFLOP", "seconds");
  for (const form& one : forms) {
    const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf("%-24s%12.1f%12.1f%12.0f%12.0f%10.2f\n", one.name.data(), mib(one.memory.stored_bytes),
                mib(one.memory.peak_bytes), mib(one.memory.total_bytes()), static_cast<double>(one.work.total()) / 1e9,
                one.median());
  }
}
