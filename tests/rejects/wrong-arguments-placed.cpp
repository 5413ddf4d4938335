// rejects: cairn \[wrong-arguments\]: this takes three expressions: placed<0>\(table, index, rows\)
// rejects: operation<cairn::fixed_string<7>\{"placed"\}, float ?\[8\]\[2\], float ?\[1\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"

using namespace cairn;

constexpr auto table = param<"table", 8, 2>;
constexpr auto row = param<"row", 1, 2>;

#ifdef CAIRN_REJECT
constexpr auto all = placed<0>(table, row);
#else
constexpr auto all = placed<0>(table, indices<"at", 8, 1>, row);
#endif

constexpr auto loss = sum(all);
static_assert(an_expression<decltype(loss)>);
