// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: operation<cairn::fixed_string<13>\{"add\(x, bias\)"\}, float ?\[4\]\[3\], float ?\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 5;
#else
constexpr int width = 3;
#endif

constexpr auto x = input<"x", 4, 3>;
constexpr auto y = x + param<"bias", width>;
constexpr auto loss = mean(square(relu(y) - 0.5_c * y) + mse(x, y));
static_assert(an_expression<decltype(loss)>);
