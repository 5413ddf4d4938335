// GPT-2 with 124 million parameters: Hugging Face's names and layouts, and the bytes of a training step.
#include "../../examples/gpt2.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

using adamw_in_step = update<adamw_options{}>;
constexpr const auto& loss = gpt2::loss<gpt2::tokens, 1, 1024>;
using with_segments = step_of<loss, adamw_in_step>;
using without_segments = step_of<loss, adamw_in_step, plain>;

// ---- The parameters have the names and layouts of Hugging Face's GPT2Model.
struct named_shape {
  std::string_view name;
  shape extents;
};
constexpr named_shape outside_of_blocks[] = {{"wte.weight", shape{50257, 768}},
                                             {"wpe.weight", shape{1024, 768}},
                                             {"ln_f.weight", shape{768}},
                                             {"ln_f.bias", shape{768}}};
constexpr named_shape in_each_block[] = {{".ln_1.weight", shape{768}},
                                         {".ln_1.bias", shape{768}},
                                         {".attn.c_attn.weight", shape{768, 2304}},
                                         {".attn.c_attn.bias", shape{2304}},
                                         {".attn.c_proj.weight", shape{768, 768}},
                                         {".attn.c_proj.bias", shape{768}},
                                         {".ln_2.weight", shape{768}},
                                         {".ln_2.bias", shape{768}},
                                         {".mlp.c_fc.weight", shape{768, 3072}},
                                         {".mlp.c_fc.bias", shape{3072}},
                                         {".mlp.c_proj.weight", shape{3072, 768}},
                                         {".mlp.c_proj.bias", shape{768}}};

constexpr const auto& graph = with_segments::graph;
constexpr bool has(std::string_view name, const shape& extents) {
  const int leaf = graph.find(graphs::role::parameter, name);
  return leaf != graphs::none && graph.leaf_op(leaf).results[0].extents == extents;
}
constexpr bool has_all = [] {
  for (const auto& [name, extents] : outside_of_blocks) {
    if (!has(name, extents)) return false;
  }
  for (int block = 0; block < 12; ++block) {
    for (const auto& [name, extents] : in_each_block) {
      formula full;
      full.write("h.");
      full.write_number(block);
      full.write(name);
      if (!has({full.text, full.length}, extents)) return false;
    }
  }
  return true;
}();
constexpr int parameters = [] {
  int count = 0;
  for (int i = 0; i < graph.leaf_count; ++i) count += graph.leaf_op(i).what == graphs::role::parameter;
  return count;
}();
static_assert(has_all && parameters == 148);

// ---- A window of 1,024 tokens on one thread. The workspace of kernels depends on the width of registers.
constexpr std::int64_t by_registers(std::int64_t sse, std::int64_t avx, std::int64_t avx512) {
  return costs::register_bytes == 16 ? sse : costs::register_bytes == 32 ? avx : avx512;
}
constexpr memory_plan memory = detail::memory_in<with_segments>;
static_assert(memory.parameter_bytes == 124'439'808 * std::int64_t{4});
static_assert(memory.gradient_bytes == 0 && memory.moment_bytes == 2 * memory.parameter_bytes);
static_assert(peak<with_segments> == by_registers(405'089'344, 405'107'776, 405'132'352));     // 386 MiB
static_assert(peak<without_segments> == by_registers(746'204'224, 746'222'656, 746'247'232));  // 712 MiB
// Four windows in one batch, and in four microbatches. The arena of microbatches is that of one window.
using four_windows = step_of<gpt2::loss<gpt2::tokens, 4, 1024>, adamw_in_step>;
constexpr memory_plan in_parts = detail::memory_in<step_of<loss, adamw_in_step, microbatch<4>>>;
static_assert(peak<four_windows> == by_registers(1'154'792'512, 1'154'810'944, 1'154'835'520));  // 1,101 MiB
static_assert(in_parts.peak_bytes == memory.peak_bytes && in_parts.gradient_bytes == memory.parameter_bytes);
// Stored are the arguments of the blocks and of the last norm, two moments of the last norm, and the logits.
static_assert(stored<with_segments> == 4 * 1024 * (13 * 768 + 2 + 50257));

// ---- Without logits. The gradient of the table of tokens is the sum of two terms, and there is room for one of them.
// The embedding's term is added in place. The head's term is stored from the forward pass on, or made in the backward
// pass right before the embedding's term is added.
constexpr nn::linear_cross_entropy_options late{.weight_gradient_in = nn::pass::backward, .workspace = 8_MiB};
template <auto Head>
using without_logits = step_of<gpt2::loss<gpt2::tokens, 1, 1024, Head>, adamw_in_step>;
using three_products = without_logits<gpt2::head_without_logits<gpt2::tokens>>;
using four_products = without_logits<nn::tied_linear_cross_entropy<"/wte.weight", gpt2::tokens, late>>;
constexpr std::int64_t table_bytes = 4 * 50257 * 768;
static_assert(peak<three_products> == 255'179'840);                                         // 243 MiB
static_assert(peak<four_products> == by_registers(169'850'112, 169'862'400, 169'489'600));  // 162 MiB
static_assert(runs_of<three_products>("scatter_add_onto") == runs{0, 1} &&
              runs_of<four_products>("scatter_add_onto") == runs{0, 1});
// Both forms store the gradient of h.
static_assert(stored<three_products> - stored<four_products> == table_bytes);

}  // namespace
