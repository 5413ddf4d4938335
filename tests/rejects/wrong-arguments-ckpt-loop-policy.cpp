// rejects: cairn \[wrong-arguments\]: this is a policy of scan<T, "name", Policy>; ckpt takes save<"tag">
// rejects: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<cairn::revolve<3> ?>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/scan.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
using keeping = revolve<3>;
#else
using keeping = save_matmuls;
#endif
constexpr auto ff = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 4>;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", keeping>(ff);
static_assert(an_expression<decltype(h)>);
