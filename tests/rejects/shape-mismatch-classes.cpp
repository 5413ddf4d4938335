// rejects: cairn \[shape-mismatch\]: indices may lie outside of what they index
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, float ?\[4\]\[10\], int ?\[4\]>
// rejects: bound<11>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr int width = 11;
#else
constexpr int width = 10;
#endif

constexpr auto loss = cross_entropy(param<"w", 4, 10>, labels<"y", width, 4>);
static_assert(detail::checked<loss>());
