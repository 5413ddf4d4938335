// rejects: cairn \[wrong-arguments\]: after its name ckpt takes policies
// rejects: fact::in<cairn::fixed_string<\d+>\{"ff"\}>.*given<keeps_products>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

struct keeps_products {
#ifdef CAIRN_REJECT
  constexpr bool operator()(std::string_view operation) const { return operation == "matmul"; }
#else
  constexpr bool operator()(const saveable& v) const { return v.operation == "matmul" && v.flops == 1024; }
#endif
};
constexpr auto ff = nn::linear<"fc1", 16> | nn::softmax | nn::linear<"fc2", 4> | nn::softmax;
constexpr auto h = input<"x", 8, 4> | ckpt<"ff", allow_useless, keeps_products>(ff);
static_assert(an_expression<decltype(h)>);
