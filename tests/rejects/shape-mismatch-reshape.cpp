// rejects: cairn \[shape-mismatch\]: reshape keeps the number of elements
// rejects: operation<cairn::fixed_string<11>\{"reshape\(x\)"\}, float ?\[4\]\[6\]>
// rejects: result<float ?\[5\]\[5\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 5;
#else
constexpr int width = 4;
#endif

constexpr auto y = reshape<width, width == 5 ? 5 : -1>(input<"x", 4, 6>);
constexpr auto loss = mean(y * y);
static_assert(an_expression<decltype(loss)>);
