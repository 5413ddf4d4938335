// The GPT of examples/gpt.cpp: the bytes of a batch of eight texts, whole and as four microbatches.
#include "cairn/check/figures.hpp"
#include "cairn/nn/embedding.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/transformer.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/train/rules.hpp"

#include "plan.hpp"

using namespace cairn;
using namespace cairn::test;

namespace {

constexpr int length = 256, width = 256, heads = 8;
constexpr auto blocks =
    repeat<6, "block">([](auto) { return ckpt<"block">(nn::transformer_block<heads, nn::causal>); });
template <int Batch>
constexpr auto embedded =
    (indices<"text", 256, Batch, length> | nn::embedding<"wte", width>)+(arange<length> | nn::embedding<"wpe", width>);
template <int Batch>
constexpr auto loss =
    cross_entropy(embedded<Batch> | blocks | nn::layer_norm<"ln"> | nn::tied_linear<"/wte.weight", 256>,
                  labels<"next", 256, Batch, length>);

using adam = update<adamw_options{}>;
using whole = step_of<loss<8>, adam, plain>;
using divided = step_of<loss<2>, adam, plain, microbatch<4>>;
constexpr memory_plan in_one = detail::memory_in<whole>, in_four = detail::memory_in<divided>;

// A microbatch needs little more than a quarter of the arena, and the program keeps one block of gradients.
static_assert(in_one.peak_bytes > 130_MiB && in_one.gradient_bytes == 0);
static_assert(in_four.peak_bytes + in_four.gradient_bytes <= 55_MiB);
static_assert(100 * in_four.peak_bytes < 26 * in_one.peak_bytes);
static_assert(in_four.gradient_bytes == in_one.parameter_bytes && in_four.division_bytes == 0);

// Each operation runs as often as in the whole batch. In addition, the gradients of the microbatches are added, at most
// once for each number of a parameter and each microbatch.
constexpr flop_counts of_one = detail::flops_in<whole>, of_four = detail::flops_in<divided>;
static_assert(of_four.recomputed == of_one.recomputed);
static_assert(of_four.total() - of_one.total() <= 4 * (in_four.gradient_bytes / 4) + (1 << 20));

}  // namespace
