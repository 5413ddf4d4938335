// rejects: cairn \[idle-policy\]: this policy \(the first is number 0\) fits no value inside of its segment
// rejects: fact::segment<cairn::fixed_string<\d+>\{"act"\}>.*fact::policy<1>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto act = nn::softmax | nn::tag<"shares"> | nn::softmax | nn::softmax;
#ifdef CAIRN_REJECT
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 16> | ckpt<"act", save<"shares">, save_matmuls>(act);
#else
constexpr auto h = input<"x", 8, 4> | nn::linear<"in", 16> | ckpt<"act", save<"shares">>(act);
#endif
static_assert(detail::checked<sum(h | nn::linear<"head", 4>)>());
