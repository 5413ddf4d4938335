// rejects: cairn \[shape-mismatch\]: logits .* take labels<"name", classes, ...>, one a row
// rejects: operation<cairn::fixed_string<31>\{"cross_entropy\(logits, classes\)"\}, float ?\[32\]\[10\], int ?\[16\]>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 16;
#else
constexpr int width = 32;
#endif

constexpr auto loss = cross_entropy(input<"logits", 32, 10>, labels<"classes", 10, width>);
constexpr auto doubled = 2.0_c * loss;
static_assert(an_expression<decltype(doubled)>);
