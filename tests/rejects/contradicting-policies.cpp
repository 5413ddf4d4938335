// rejects: cairn \[contradicting-policies\]: these two policies of one segment contradict each other
// rejects: fact::in<cairn::fixed_string<\d+>\{"outer\.ff"\}>.*policies<cairn::save_nothing, ?cairn::save_matmuls>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto mlp = nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4>;
#ifdef CAIRN_REJECT
constexpr auto ff = ckpt<"ff", save_nothing, allow_useless, save_matmuls>(mlp);
#else
constexpr auto ff = ckpt<"ff", allow_useless, save_matmuls>(mlp);
#endif
constexpr auto h = input<"x", 8, 4> | block<"outer">(ff);
static_assert(an_expression<decltype(h)>);
