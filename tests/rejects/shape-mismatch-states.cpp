// rejects: cairn \[shape-mismatch\]: each state of a recurrent layer is \{layers, N, hidden\}, of its cell \{N, hidden\}
// rejects: fact::in<cairn::fixed_string<8>\{"net.gru"\}>
// rejects: operation<cairn::fixed_string<4>\{"gru"\}, float ?\[8\]\[5\]\[3\], float ?\[8\]\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/recurrent.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto h0 = input<"h0", 8, 4>;
#else
constexpr auto h0 = input<"h0", 1, 8, 4>;
#endif

constexpr auto net = [](auto x, auto h) { return std::get<0>(nn::gru<"gru", 4>(x, h)); };
constexpr auto y = block<"net">(net, input<"x", 8, 5, 3>, h0);
static_assert(an_expression<decltype(y)>);
