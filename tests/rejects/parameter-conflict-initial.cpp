// rejects: cairn \[parameter-conflict\]: one name stands for two different leaves
// rejects: fact::parameter<cairn::fixed_string<\d+>\{"fc\.weight"\}>.*fact::uniform<.*fact::constant<
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

// The same shape, but drawn here and zero there.
#ifdef CAIRN_REJECT
constexpr auto twin = param_from<"fc.weight", initial{}, 4, 4>;
#else
constexpr auto twin = param<"fc.weight", 4, 4>;
#endif

constexpr auto loss = sum((input<"x", 8, 4> | nn::linear<"fc", 4>)) + sum(square(twin));
static_assert(detail::checked<loss>());
