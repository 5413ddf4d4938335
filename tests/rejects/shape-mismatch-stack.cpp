// rejects: cairn \[shape-mismatch\]: the shapes must be equal
// rejects: operation<cairn::fixed_string<6>\{"stack"\}, float ?\[4\]\[6\], float ?\[4\]\[1\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int columns = 1;
#else
constexpr int columns = 6;
#endif

constexpr auto x = input<"x", 4, 6>;
constexpr auto loss = sum(stack<0>(x, x, input<"y", 4, columns>, x));
static_assert(an_expression<decltype(loss)>);
