// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<6>\{"where"\}, float ?\[8\]\[4\], float ?\[8\]\[4\], float>
// rejects: takes<int, float, float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto x = input<"x", 8, 4>;

#ifdef CAIRN_REJECT
constexpr auto positive = where(x, x, 0_c);
#else
constexpr auto positive = where(x > 0_c, x, 0_c);
#endif

constexpr auto loss = sum(positive);
static_assert(an_expression<decltype(loss)>);
