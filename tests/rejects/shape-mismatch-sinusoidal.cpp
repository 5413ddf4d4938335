// rejects: cairn \[shape-mismatch\]: sinusoidal_positions takes \{..., T, features\} and positions \{T\} or \{..., T\}
// rejects: operation<cairn::fixed_string<21>\{"sinusoidal_positions"\}, float ?\[2\]\[1\]\[12\], int ?\[8\]>
#include "cairn/misuse/table.hpp"
#include "cairn/nn/positions.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto positions = arange<8>;
#else
constexpr auto positions = indices<"at", 8, 1>;
#endif

constexpr auto y = nn::sinusoidal_positions(input<"x", 2, 1, 12>, positions);
static_assert(an_expression<decltype(y)>);
