// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\).*or as_real\(x\)
// rejects: cairn::bf16 ?\[8\]\[10\].*takes<float, int>
#include "cairn/lang/convert.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto logits = as<bf16>(input<"x", 8, 10>);

#ifdef CAIRN_REJECT
constexpr auto loss = cross_entropy(logits, labels<"y", 10, 8>);
#else
constexpr auto loss = cross_entropy(as_real(logits), labels<"y", 10, 8>);
#endif
static_assert(an_expression<decltype(loss)>);
