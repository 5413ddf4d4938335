// rejects: cairn \[loss-not-scalar\]: .*must be a scalar; reduce it with mean or sum
// rejects: got<float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto squares = square(param<"w", 4>);

#ifdef CAIRN_REJECT
constexpr auto loss = squares;
#else
constexpr auto loss = outputs(sum(squares), squares);
#endif

static_assert(detail::checked<loss>());
