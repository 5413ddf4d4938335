// rejects: cairn \[wrong-arguments\]: axes and extents are template arguments
// rejects: operation<cairn::fixed_string<7>\{"gather"\}, float ?\[8\]\[2\], int ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto table = param<"table", 8, 2>;
constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto rows = gather(table, at);
#else
constexpr auto rows = gather<0>(table, at);
#endif

constexpr auto loss = sum(rows);
static_assert(an_expression<decltype(loss)>);
