// rejects: cairn \[shape-mismatch\]: cross_entropy\(logits, labels, weights, row_weights\) takes weights \{classes\}, then
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}|cross_entropy\(logits, ?classes,
// rejects: float ?\[32\]\[10\], int ?\[32\], float ?\[32\], float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto logits = input<"logits", 32, 10>;
constexpr auto classes = labels<"classes", 10, 32>;
constexpr auto weights = input<"w", 32>;

#ifdef CAIRN_REJECT
constexpr auto loss = cross_entropy(logits, classes, weights);
#else
constexpr auto loss = cross_entropy(logits, classes, 1_c, weights);
#endif
static_assert(an_expression<decltype(loss)>);
