// rejects: cairn \[shape-mismatch\]: a tensor has at most 6 extents, each a positive constant
// rejects: operation<cairn::fixed_string<8>\{"reshape"\}, float ?\[4\]\[8\]>, cairn::fact::extents<1, 1, 1, 1, 1, 4, 8>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/leaf.hpp"
#include "cairn/lang/view.hpp"

using namespace cairn;

constexpr auto x = input<"x", 4, 8>;
#ifdef CAIRN_REJECT
constexpr auto y = reshape<1, 1, 1, 1, 1, 4, 8>(x);
#else
constexpr auto y = reshape<1, 1, 1, 1, 4, 8>(x);
#endif
static_assert(an_expression<decltype(y)>);
