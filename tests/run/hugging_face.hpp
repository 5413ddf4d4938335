// A small GPT-2 of layers that cairn has, and the table of the names and layouts that Hugging Face's GPT-2 gives to its
// parameters. The test `selection` and the suite `exchange` use both.
#pragma once

#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"

#include <string_view>
#include <vector>

namespace hugging_face {

using namespace cairn;

constexpr int tokens = 11, positions = 6, width = 8, layers = 2, heads = 2;

constexpr auto transformer = nn::transformer_block<heads, nn::causal, nn::gelu_tanh>;
template <int Batch>
constexpr auto logits = [] {
  const auto of_text = indices<"text", tokens, Batch, positions> | nn::embedding<"wte", width>;
  const auto x =
      (of_text + param<"wpe.weight", positions, width>) | repeat<layers, "h">([](auto) { return transformer; });
  return x | nn::layer_norm<"ln_f"> | nn::tied_linear<"/wte.weight", tokens>;
}();

/// Hugging Face's Conv1D stores its weight as {in, out}. A linear layer of cairn has {out, in}.
inline const std::vector<file::renamed> names{
    {.name = "h.*.self_attn.in_proj_weight", .in_file = "transformer.h.*.attn.c_attn.weight", .transposed = true},
    {.name = "h.*.self_attn.in_proj_bias", .in_file = "transformer.h.*.attn.c_attn.bias"},
    {.name = "h.*.self_attn.out_proj.weight", .in_file = "transformer.h.*.attn.c_proj.weight", .transposed = true},
    {.name = "h.*.self_attn.out_proj.bias", .in_file = "transformer.h.*.attn.c_proj.bias"},
    {.name = "h.*.linear1.weight", .in_file = "transformer.h.*.mlp.c_fc.weight", .transposed = true},
    {.name = "h.*.linear1.bias", .in_file = "transformer.h.*.mlp.c_fc.bias"},
    {.name = "h.*.linear2.weight", .in_file = "transformer.h.*.mlp.c_proj.weight", .transposed = true},
    {.name = "h.*.linear2.bias", .in_file = "transformer.h.*.mlp.c_proj.bias"},
    {.name = "h.*.norm*.*", .in_file = "transformer.h.*.ln_*.*"},
    {.name = "", .in_file = "transformer"},
};

}  // namespace hugging_face
