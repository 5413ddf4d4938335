// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[8\], float ?\[4\]>
// rejects: takes<float, int>
#include "cairn/misuse/table.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto classes = input<"classes", 4>;
#else
constexpr auto classes = labels<"classes", 8, 4>;
#endif

constexpr auto loss = mean(cross_entropy(input<"logits", 4, 8>, classes));
static_assert(an_expression<decltype(loss)>);
