// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: they need a bound of at most its extent
#include "cairn/misuse/table.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto rows = gather<0>(param<"table", 8, 2>, as<std::int32_t>(as_real(at) * 2_c));
#else
constexpr auto rows = gather<0>(param<"table", 8, 2>, at);
#endif

constexpr auto loss = sum(rows);
static_assert(an_expression<decltype(loss)>);
