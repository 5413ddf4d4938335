// rejects: cairn \[wrong-arguments\]: a recurrent layer takes its input alone, or with each of its states
// rejects: fact::in<cairn::fixed_string<5>\{"cell"\}>
// rejects: operation<cairn::fixed_string<5>\{"lstm"\}, float ?\[8\]\[3\], float ?\[8\]\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/recurrent.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 3>;
constexpr auto h = input<"h", 8, 4>;
#ifdef CAIRN_REJECT
constexpr auto both = nn::lstm_cell<"cell", 4>(x, h);
#else
constexpr auto both = nn::lstm_cell<"cell", 4>(x, h, h);
#endif
[[maybe_unused]] constexpr auto next = std::get<1>(both);
