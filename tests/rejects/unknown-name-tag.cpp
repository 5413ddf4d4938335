// rejects: cairn \[unknown-name\]: nothing in this segment has the tag that its policy names
// rejects: fact::segment<cairn::fixed_string<\d+>\{"block\.0\.ff"\}>.*tag<cairn::fixed_string<7>\{"hiden1"\}>.*nearest<cairn::fixed_string<7>\{"hidden"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
using kept = save<"hiden1">;
#else
using kept = save<"hidden">;
#endif
constexpr auto ff = nn::linear<"fc1", 16> | nn::tag<"hidden"> | nn::softmax | nn::linear<"fc2", 4> | nn::tanh;
constexpr auto blocks = repeat<3, "block">([](auto) { return ckpt<"ff", allow_useless, kept>(ff); });
static_assert(detail::checked<sum(input<"x", 8, 4> | blocks)>());
