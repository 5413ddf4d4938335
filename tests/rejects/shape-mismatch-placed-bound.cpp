// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: operation<cairn::fixed_string<7>\{"placed"\}, float ?\[8\]\[4\], int ?\[1\], float ?\[3\]\[4\]>
// rejects: bound<8>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/placed.hpp"

using namespace cairn;

// Three rows begin below 6.
#ifdef CAIRN_REJECT
constexpr auto at = indices<"at", 8, 1>;
#else
constexpr auto at = indices<"at", 6, 1>;
#endif
constexpr auto loss = sum(placed<0>(input<"table", 8, 4>, at, input<"rows", 3, 4>));
static_assert(an_expression<decltype(loss)>);
