// rejects: cairn \[kind-mismatch\]: arguments are real numbers \(float\) or indices \(int\)
// rejects: operation<cairn::fixed_string<21>\{"sinusoidal_positions"\}, float ?\[2\]\[8\]\[12\], float ?\[8\]>
// rejects: fact::takes<float, int>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/positions.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto positions = input<"at", 8>;
#else
constexpr auto positions = indices<"at", 8, 8>;
#endif

constexpr auto y = nn::sinusoidal_positions(input<"x", 2, 8, 12>, positions);
static_assert(an_expression<decltype(y)>);
