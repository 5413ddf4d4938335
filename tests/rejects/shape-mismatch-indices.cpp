// rejects: cairn \[shape-mismatch\]: indices are in \[0, bound\), for a bound from 1 to below 2\^31
// rejects: fact::in<cairn::fixed_string<\d+>\{"tokens"\}>, cairn::fact::bound<0>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/lang/leaf.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto x = as_real(indices<"tokens", 0, 8, 16>);
#else
constexpr auto x = as_real(indices<"tokens", 256, 8, 16>);
#endif
static_assert(an_expression<decltype(x)>);
