// rejects: cairn \[shape-mismatch\]: matrices must be \{\.\.\., m, k\} and \{\.\.\., k, n\}
// rejects: operation<cairn::fixed_string<13>\{"matmul\(x, w\)"\}, float ?\[4\]\[3\], float ?\[7\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/matmul.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 7;
#else
constexpr int width = 3;
#endif

constexpr auto y = matmul(input<"x", 4, 3>, transpose(param<"w", 2, width>));  // as the user wrote it: {7, 2}
constexpr auto loss = mean(transpose(y));
static_assert(an_expression<decltype(loss)>);
