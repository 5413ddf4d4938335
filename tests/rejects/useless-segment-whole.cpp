// rejects: cairn \[useless-segment\]: the whole model is this segment
// rejects: fact::segment<cairn::fixed_string<\d+>\{"all"\}>.*peak_bytes<\d+L?>.*as_block<\d+L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto images = input<"x", 8, 4>;
constexpr auto classes = labels<"y", 10, 8>;
constexpr auto model = repeat<12, "block">([](auto) {
                         return ckpt<"ff">(nn::residual(nn::linear<"fc1", 16> | nn::tanh | nn::linear<"fc2", 4>));
                       }) |
                       nn::linear<"head", 10>;

#ifdef CAIRN_REJECT
constexpr auto logits = images | ckpt<"all">(model);
#else
constexpr auto logits = images | model;
#endif
static_assert(detail::checked<cross_entropy(logits, classes)>());
