// rejects: cairn \[useless-segment\]: this segment frees no more bytes than the boundaries
// rejects: fact::segment<cairn::fixed_string<\d+>\{"loss"\}>.*frees<0L?>.*keeps<0L?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 10>;
constexpr auto classes = labels<"y", 10, 8>;
constexpr auto of_logits = [](auto l, auto y) { return cross_entropy(l, y); };

#ifdef CAIRN_REJECT
constexpr auto loss = ckpt<"loss">(of_logits, logits, classes);
#else
constexpr auto loss = of_logits(logits, classes);
#endif
static_assert(detail::checked<loss>());
