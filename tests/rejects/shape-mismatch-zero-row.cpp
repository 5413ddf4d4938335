// rejects: cairn \[shape-mismatch\]: the zero_row of a parameter is one of its rows, from 0 on, or -1 for none
// rejects: fact::in<cairn::fixed_string<11>\{"wte.weight"\}>
// rejects: fact::extents<5, 3>
// rejects: fact::zero_row<5>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/leaf.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr initial start{.drawn = initial::law::normal, .width = 1, .zero_row = 5};
#else
constexpr initial start{.drawn = initial::law::normal, .width = 1, .zero_row = 4};
#endif

constexpr auto table = param_from<"wte.weight", start, 5, 3>;
static_assert(an_expression<decltype(table)>);
