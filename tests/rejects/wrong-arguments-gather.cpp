// rejects: cairn \[wrong-arguments\]: this takes two arguments:.*gather<0>\(table, indices\)
// rejects: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[8\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto table = param<"table", 8, 2>;

#ifdef CAIRN_REJECT
constexpr auto rows = gather<0>(table);
#else
constexpr auto rows = gather<0>(table, indices<"at", 8, 4>);
#endif

constexpr auto loss = sum(rows);
static_assert(an_expression<decltype(loss)>);
