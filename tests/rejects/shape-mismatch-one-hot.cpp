// rejects: cairn \[shape-mismatch\]: one_hot adds an axis as long as the bound of its indices
// rejects: operation<cairn::fixed_string<12>\{"one_hot\(as\)"\}, int ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto ones = one_hot(as<std::int32_t>(as_real(at) * 2_c));
#else
constexpr auto ones = one_hot(at);
#endif

constexpr auto loss = sum(ones);
static_assert(an_expression<decltype(loss)>);
