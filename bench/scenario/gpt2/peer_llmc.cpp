// llm.c's trainer for processors. This program includes its source file from a clone of the user's, without its main
// function.
#include <algorithm>

#include "serve.hpp"
#define TESTING
#include "train_gpt2.c"

namespace {

constexpr int batch = 4, length = 64, layers = 12, width = 768, tokens = 50257;

/// Writes a parameter of each layer, one after another. A weight is transposed, because llm.c has {made, read}.
void fill_layers(const contestant::arguments& given, float* to, const std::string& name, int read, int made) {
  for (int i = 0; i < layers; ++i) {
    const auto numbers = given.tensor<float>("h." + std::to_string(i) + name, static_cast<std::size_t>(read) * made);
    for (int column = 0; column < made; ++column) {
      for (int row = 0; row < read; ++row) *to++ = numbers[static_cast<std::size_t>(row) * made + column];
    }
  }
}

void fill(const contestant::arguments& given, const ParameterTensors& to) {
  given.read<float>("wte.weight", {to.wte, std::size_t{tokens} * width});
  given.read<float>("wpe.weight", {to.wpe, std::size_t{1024} * width});
  fill_layers(given, to.ln1w, ".ln_1.weight", 1, width);
  fill_layers(given, to.ln1b, ".ln_1.bias", 1, width);
  fill_layers(given, to.qkvw, ".attn.c_attn.weight", width, 3 * width);
  fill_layers(given, to.qkvb, ".attn.c_attn.bias", 1, 3 * width);
  fill_layers(given, to.attprojw, ".attn.c_proj.weight", width, width);
  fill_layers(given, to.attprojb, ".attn.c_proj.bias", 1, width);
  fill_layers(given, to.ln2w, ".ln_2.weight", 1, width);
  fill_layers(given, to.ln2b, ".ln_2.bias", 1, width);
  fill_layers(given, to.fcw, ".mlp.c_fc.weight", width, 4 * width);
  fill_layers(given, to.fcb, ".mlp.c_fc.bias", 1, 4 * width);
  fill_layers(given, to.fcprojw, ".mlp.c_proj.weight", 4 * width, width);
  fill_layers(given, to.fcprojb, ".mlp.c_proj.bias", 1, width);
  given.read<float>("ln_f.weight", {to.lnfw, width});
  given.read<float>("ln_f.bias", {to.lnfb, width});
}

}  // namespace

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  auto text = given.tensor<int>("text", batch * length), next = given.tensor<int>("next", batch * length);

  // This is done as in gpt2_build_from_checkpoint, which reads one file. The table has 47 unused rows, as in that file.
  GPT2 model{};
  model.config = {.max_seq_len = 1024,
                  .vocab_size = tokens,
                  .padded_vocab_size = tokens + 47,
                  .num_layers = layers,
                  .num_heads = 12,
                  .channels = width};
  fill_in_parameter_sizes(model.param_sizes, model.config);
  for (const std::size_t size : model.param_sizes) model.num_parameters += size;
  model.params_memory = malloc_and_point_parameters(&model.params, model.param_sizes);
  std::fill_n(model.params_memory, model.num_parameters, 0.0F);
  fill(given, model.params);

  int done = 0;
  const auto step = [&] {
    gpt2_forward(&model, text.data(), next.data(), batch, length);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-4F, 0.9F, 0.999F, 1e-8F, 0.01F, ++done);
    return model.mean_loss;
  };
  // llm.c allocates all activations and their gradients in the first step.
  fill_in_activation_sizes(model.act_sizes, model.config, batch, length);
  std::int64_t activations = 0;
  for (const std::size_t size : model.act_sizes) activations += static_cast<std::int64_t>(size);
  contestant::serve(step,
                    {.memory = 2 * 4 * activations, .gradients = 4 * static_cast<std::int64_t>(model.num_parameters)});
}
