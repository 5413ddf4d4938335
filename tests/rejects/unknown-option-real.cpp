// rejects: cairn \[unknown-option\]: the numbers of a program are real<float> or real<double>; .* mixed<bf16>, without real
// rejects: fact::given<cairn::real<cairn::bf16> ?>
#include "cairn/misuse/table.hpp"
#include "cairn/check/model.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

#ifdef CAIRN_REJECT
using numbers = real<bf16>;
#else
using numbers = mixed<bf16>;
#endif
static_assert(detail::checked<loss, numbers>());
