// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant below 2\^31, that of the batch too
// rejects: fact::extents<0, 0>
#include "cairn/misuse/table.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/lang/generated.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int positions = 0;
#else
constexpr int positions = 8;
#endif
constexpr auto y = causal_mask<positions> + zeros<8, 1>;
static_assert(an_expression<decltype(y)>);
