// rejects: cairn \[useless-segment\]: this segment frees no more bytes than the boundaries and results that only it keeps
// rejects: fact::segment<cairn::fixed_string<4>\{"act"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto hidden = nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", 16>;
#ifdef CAIRN_REJECT
constexpr auto model = nn::linear<"in", 16> | ckpt<"act">(nn::tanh) | ckpt<"ff">(hidden) | nn::linear<"head", 4>;
#else
constexpr auto model = nn::linear<"in", 16> | nn::tanh | ckpt<"ff">(hidden) | nn::linear<"head", 4>;
#endif
constexpr auto loss = cross_entropy(input<"x", 8, 16> | model, labels<"y", 4, 8>);
static_assert(detail::checked<loss, freeze<"head">>());
