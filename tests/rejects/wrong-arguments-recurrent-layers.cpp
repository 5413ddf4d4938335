// rejects: cairn \[wrong-arguments\]: a recurrent layer has one layer or more: num_layers is at least 1
// rejects: fact::in<cairn::fixed_string<8>\{"net.gru"\}>
// rejects: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\]>
// rejects: fact::layers<0>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/recurrent.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr nn::recurrent_options stacked{.num_layers = 0};
#else
constexpr nn::recurrent_options stacked{.num_layers = 2};
#endif

constexpr auto y = input<"x", 8, 5, 3> | block<"net">(nn::gru<"gru", 4, stacked>);
static_assert(an_expression<decltype(y)>);
