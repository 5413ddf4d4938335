// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<5>\{"less"\}, float ?\[8\]\[4\], int ?\[4\]>
// rejects: takes<float, float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;
constexpr auto at = indices<"at", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto below = x < at;
#else
constexpr auto below = x < as_real(at);
#endif

constexpr auto loss = sum(where(below, x, 0_c));
static_assert(an_expression<decltype(loss)>);
