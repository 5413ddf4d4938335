// rejects: cairn \[useless-segment\]: this segment frees no more bytes than the boundaries and results that only it keeps
// rejects: fact::segment<cairn::fixed_string<4>\{"act"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/lang/gradient.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto act = ckpt<"act">(nn::tanh);
#else
constexpr auto act = nn::tanh;
#endif
constexpr auto logits = input<"x", 8, 16> | nn::linear<"in", 16> | act | nn::linear<"head", 4>;
// The penalty does not lead through the segment.
constexpr auto loss = cross_entropy(logits, labels<"y", 4, 8>) + sum(square(grad(mean(square(logits)), logits)));
static_assert(detail::checked<loss>());
