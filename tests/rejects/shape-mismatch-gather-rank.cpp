// rejects: cairn \[shape-mismatch\]: gather<Axis>\(table, indices\).*at most 6 axes are left
// rejects: operation<cairn::fixed_string<18>\{"gather\(table, at\)"\}, float ?\[8\]\[2\]\[2\], int ?\[2\]\[2\]\[2\]\[2\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/lang/view.hpp"

using namespace cairn;

constexpr auto at = indices<"at", 8, 2, 2, 2, 2, 2>;

#ifdef CAIRN_REJECT
constexpr auto rows = gather<0>(param<"table", 8, 2, 2>, at);
#else
constexpr auto rows = gather<0>(param<"table", 8, 2, 2>, reshape<32>(at));
#endif

constexpr auto loss = sum(rows);
static_assert(an_expression<decltype(loss)>);
