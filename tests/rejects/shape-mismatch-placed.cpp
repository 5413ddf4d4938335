// rejects: cairn \[shape-mismatch\]: placed<Axis>\(table, index, rows\) takes one index
// rejects: operation<cairn::fixed_string<23>\{"placed\(table, at, row\)"\}, float ?\[8\]\[4\], int, float ?\[4\]>
// rejects: axes<0>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto row = input<"row", 4>;
#else
constexpr auto row = input<"row", 1, 4>;
#endif
constexpr auto loss = sum(placed<0>(param<"table", 8, 4>, indices<"at", 8>, row));
static_assert(an_expression<decltype(loss)>);
