// rejects: cairn \[shape-mismatch\]: logits \{..., classes\} take labels<"name", classes, ...>, one a row
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[16\]\[8\]\[16\], int ?\[8\]>
// rejects: axes_added_by<cairn::fixed_string<7>\{"column"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto column = param<"column", 16, 1, 1>;
#else
constexpr auto column = param<"column", 16>;
#endif
constexpr auto gated = [](auto h, auto y) { return cross_entropy(gelu(tanh(column + h) * 2_c), y); };
constexpr auto loss = block<"gate">(gated, input<"x", 8, 16>, labels<"y", 16, 8>);
static_assert(an_expression<decltype(loss)>);
