// rejects: cairn \[wrong-arguments\]: after its name ckpt takes policies: .* boundaries<bf16> or boundaries<float> stands before them
// rejects: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<cairn::boundaries<int> ?>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
using stored = std::int32_t;
#else
using stored = bf16;
#endif
constexpr auto ff = nn::linear<"fc1", 16> | nn::gelu | nn::linear<"fc2", 4>;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", boundaries<stored>>(ff);
static_assert(an_expression<decltype(h)>);
