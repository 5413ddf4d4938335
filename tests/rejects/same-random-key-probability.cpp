// rejects: cairn \[same-random-key\]: two random operations have one name
// rejects: fact::key<cairn::fixed_string<2>\{"d"\}>
// rejects: given<float ?\[4\]>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"
#include "cairn/op/dropout.hpp"

using namespace cairn;

// The same operation on the same value is the same value, and no mistake.
#ifdef CAIRN_REJECT
constexpr double probability = 0.25;
#else
constexpr double probability = 0.5;
#endif

constexpr auto h = exp(param<"w", 4>);
constexpr auto loss = sum(dropout<"d">(h) * dropout<"d", probability>(h));
static_assert(detail::checked<loss>());
