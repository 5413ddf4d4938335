// rejects: cairn \[contradicting-policies\]: these two policies of one segment contradict each other
// rejects: policies<cairn::save_all_but<.*"a".*save_all_but<.*"b"
#include "cairn/misuse/table.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"

using namespace cairn;

constexpr auto ff =
    nn::linear<"fc1", 16> | nn::softmax | nn::tag<"a"> | nn::softmax | nn::tag<"b"> | nn::linear<"fc2", 4>;
#ifdef CAIRN_REJECT
constexpr auto h = ckpt<"ff", save_all_but<"a">, save_all_but<"b">>(ff)(input<"x", 8, 4>);
#else
constexpr auto h = ckpt<"ff", save_all_but<"a", "b">>(ff)(input<"x", 8, 4>);
#endif
static_assert(an_expression<decltype(h)>);
