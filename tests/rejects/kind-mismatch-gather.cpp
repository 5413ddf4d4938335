// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<7>\{"gather"\}, int ?\[4\], float ?\[8\]\[2\]>
// rejects: takes<int, int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto table = param<"table", 8, 2>;
constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto rows = gather<0>(at, table);
#else
constexpr auto rows = gather<0>(table, at);
#endif

constexpr auto loss = sum(rows);
static_assert(an_expression<decltype(loss)>);
