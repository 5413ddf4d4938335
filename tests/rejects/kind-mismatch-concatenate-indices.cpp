// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<12>\{"concatenate"\}, float ?\[4\], int ?\[4\]>
// rejects: takes<float, float>
#include "cairn/misuse/table.hpp"
#include "cairn/op/concatenate.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto words = labels<"words", 8, 4>;
#else
constexpr auto words = input<"words", 4>;
#endif

constexpr auto loss = mean(concatenate<0>(input<"x", 4>, words));
static_assert(an_expression<decltype(loss)>);
